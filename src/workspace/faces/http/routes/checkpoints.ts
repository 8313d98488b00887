import type { Static } from 'typebox'
import type { HttpServer } from '../../../../lib/http/server.ts'
import { Type } from '../../../../lib/schema/type.ts'
import {
  checkpointBodySchema,
  checkpointParams,
  checkpointToWire,
  rewindBodySchema,
  rewoundSchema,
  rewoundToWire,
} from '../../../api/checkpoint.ts'
import { workspaceParams } from '../../../api/parameters.ts'
import { subjectOf } from '../audit-subject.ts'
import type { HttpFace } from '../face.ts'

interface Named {
  readonly Params: { readonly name: string }
}

const checkpoint = Type.Ref('Checkpoint')

/** Registers the routes for checkpoints of workspaces: list, take, delete, rewind. */
export function checkpointRoutes(
  { app, validBody }: HttpServer,
  { checkpointer, audit, encode }: HttpFace,
): void {
  app.get<Named>(
    '/api/workspaces/:name/checkpoints',
    {
      schema: {
        summary: 'List the checkpoints of a workspace, oldest first',
        params: workspaceParams,
        response: { 200: Type.Object({ checkpoints: Type.Array(checkpoint) }) },
      },
    },
    async ({ params }) => ({ checkpoints: (await checkpointer.list(params.name)).map(checkpointToWire) }),
  )

  app.post<Named & { readonly Body: Static<typeof checkpointBodySchema> }>(
    '/api/workspaces/:name/checkpoints',
    {
      attachValidation: true,
      schema: {
        summary: "Take a checkpoint of a workspace's files",
        description:
          'A running workspace keeps running, and is paused while its files are copied. Memory is not copied.',
        params: workspaceParams,
        body: checkpointBodySchema,
        response: { 201: checkpoint },
      },
    },
    async (request, reply) => {
      const { name } = request.params
      const taken = await audit.follow(subjectOf(request, 'checkpoint.create', name), async () =>
        checkpointer.take(name, validBody(request).label ?? ''),
      )
      return reply.status(201).send(checkpointToWire(taken))
    },
  )

  app.delete<{ readonly Params: Static<typeof checkpointParams> }>(
    '/api/workspaces/:name/checkpoints/:id',
    {
      schema: {
        summary: 'Delete a checkpoint; the workspace keeps its files',
        params: checkpointParams,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { name, id } = request.params
      await audit.follow(subjectOf(request, 'checkpoint.delete', name), () => checkpointer.remove(name, id))
      return reply.status(204).send(null)
    },
  )

  app.post<Named & { readonly Body: Static<typeof rewindBodySchema> }>(
    '/api/workspaces/:name/rewind',
    {
      attachValidation: true,
      schema: {
        summary: 'Put back the files of a checkpoint',
        description:
          'First takes a checkpoint, then stops the workspace, and starts it again if it ran. Programs and memory are lost.',
        params: workspaceParams,
        body: rewindBodySchema,
        response: { 200: rewoundSchema },
      },
    },
    async (request) => {
      const { name } = request.params
      return rewoundToWire(
        await audit.follow(subjectOf(request, 'workspace.rewind', name), async () =>
          checkpointer.rewind(name, validBody(request).to),
        ),
        encode,
      )
    },
  )
}
