import type { Static } from 'typebox'
import type { HttpServer } from '../../../../lib/http/server.ts'
import { Type } from '../../../../lib/schema/type.ts'
import { nameSchema } from '../../../api/parameters.ts'
import { snapshotBodySchema, snapshotToWire } from '../../../api/snapshot.ts'
import { snapshotSubjectOf, textIn } from '../audit-subject.ts'
import type { HttpFace } from '../face.ts'

interface Named {
  readonly Params: { readonly name: string }
}

const snapshot = Type.Ref('Snapshot')
const snapshotParams = Type.Object({ name: nameSchema })

/** Registers the routes for virtual machine snapshots: list, create, get, delete. */
export function snapshotRoutes(
  { app, validBody }: HttpServer,
  { snapshots, lifecycle, audit }: HttpFace,
): void {
  app.get(
    '/api/snapshots',
    {
      schema: {
        summary: 'List snapshots of all backends, oldest first',
        response: { 200: Type.Object({ snapshots: Type.Array(snapshot) }) },
      },
    },
    async () => ({ snapshots: (await snapshots.list()).map(snapshotToWire) }),
  )

  app.post<{ Body: Static<typeof snapshotBodySchema> }>(
    '/api/snapshots',
    {
      attachValidation: true,
      schema: {
        summary: "Create a snapshot of a stopped virtual machine's disk",
        body: snapshotBodySchema,
        response: { 201: Type.Object({ snapshot, warnings: Type.Array(Type.String()) }) },
      },
    },
    async (request, reply) => {
      const [named, from] = [textIn(request.body, 'name'), textIn(request.body, 'source_workspace')]
      const subject = snapshotSubjectOf(request, 'snapshot.create', named, from)
      const taken = await audit.follow(subject, async () => {
        const { name, source_workspace: source, comment } = validBody(request)
        return lifecycle.takeSnapshot(source, { name, comment: comment ?? '' })
      })
      return reply
        .status(201)
        .send({ snapshot: snapshotToWire(taken.snapshot), warnings: [...taken.warnings] })
    },
  )

  app.get<Named>(
    '/api/snapshots/:name',
    {
      schema: {
        summary: 'Get a snapshot',
        params: snapshotParams,
        response: { 200: Type.Object({ snapshot }) },
      },
    },
    async ({ params }) => ({ snapshot: snapshotToWire(await snapshots.get(params.name)) }),
  )

  app.delete<Named>(
    '/api/snapshots/:name',
    {
      schema: {
        summary: 'Delete a snapshot; workspaces created from it are kept',
        params: snapshotParams,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { name } = request.params
      await audit.follow(snapshotSubjectOf(request, 'snapshot.delete', name), () => snapshots.remove(name))
      return reply.status(204).send(null)
    },
  )
}
