import type { Static } from 'typebox'
import type { HttpServer } from '../../../../lib/http/server.ts'
import { Type } from '../../../../lib/schema/type.ts'
import { createBodySchema, createFromWire } from '../../../api/create.ts'
import { forkBodySchema, forkedSchema, forkedToWire } from '../../../api/fork.ts'
import { renameBodySchema, STRICT, workspaceParams } from '../../../api/parameters.ts'
import { settingsBodySchema, settingsFromWire } from '../../../api/settings.ts'
import { timelineSchema, timelineToWire } from '../../../api/timeline.ts'
import { nextTimesToWire } from '../../../api/workspace.ts'
import { labelQuerySchema, matchesLabels, parseLabelFilters } from '../../../labels.ts'
import { parseWorkspaceName } from '../../../name.ts'
import { effectiveSchedule, nextTimes } from '../../../schedule.ts'
import { subjectOf, textIn } from '../audit-subject.ts'
import type { HttpFace } from '../face.ts'
import { streamProgress, wantsEvents } from '../stream-progress.ts'

interface Named {
  readonly Params: { readonly name: string }
}

const ACTIONS = {
  start: 'Start a workspace',
  stop: 'Stop a workspace; the memory of a suspended one is discarded',
  suspend: 'Save the memory of a running workspace and stop it, so that start continues its programs',
  reset: 'Reset a stopped workspace to its image, deleting everything written in it',
} as const
/** Query for a deletion: a misspelled parameter must not delete the files (threat W9). */
const removeQuerySchema = Type.Object(
  {
    keep_volume: Type.Optional(
      Type.Boolean({ description: 'keep its files for the next workspace with that name; default false' }),
    ),
  },
  STRICT,
)
const workspace = Type.Ref('Workspace')

/** Registers the routes for workspaces: list, create, get, change, start, stop, suspend, reset, delete. */
export function workspaceRoutes(server: HttpServer, face: HttpFace): void {
  const { config, table, encode, timeline, lifecycle, editor, renamer, forker, audit, gate, access, clock } =
    face
  const { app } = server
  app.get<{ readonly Querystring: Static<typeof labelQuerySchema> }>(
    '/api/workspaces',
    {
      schema: {
        summary: 'List workspaces, oldest first',
        querystring: labelQuerySchema,
        response: { 200: Type.Object({ workspaces: Type.Array(workspace) }) },
      },
    },
    (request) => {
      const filters = parseLabelFilters(request.query.label)
      const visible = access.visible(gate.principalOf(request.raw))
      const selected = visible.filter(({ labels }) => matchesLabels(labels, filters))
      return { workspaces: selected.map(encode) }
    },
  )

  app.post<{ Body: Static<typeof createBodySchema> }>(
    '/api/workspaces',
    {
      attachValidation: true,
      schema: {
        summary: 'Create a workspace',
        description:
          'Responds when the workspace is running. With `Accept: text/event-stream` the response is a stream of `progress` events ' +
          'that ends with `complete` (the workspace) or `error` (`{code, message}`).',
        body: createBodySchema,
        response: { 201: workspace },
      },
    },
    async (request, reply) => {
      const subject = subjectOf(request, 'workspace.create', textIn(request.body, 'name'))
      const prepare = async () => {
        const creator = access.creatorOf(gate.principalOf(request.raw))
        return lifecycle.prepareCreate({ ...createFromWire(server.validBody(request)), creator })
      }
      const creation = await audit.followRefusal(subject, prepare)
      const make: typeof creation.make = (progress) => audit.follow(subject, () => creation.make(progress))
      if (wantsEvents(request.headers.accept))
        return streamProgress(server, reply, 'creation', async (progress) => encode(await make(progress)))
      return reply.status(201).send(encode(await make(() => undefined)))
    },
  )

  app.get<Named>(
    '/api/workspaces/:name',
    {
      schema: {
        summary: 'Get a workspace',
        params: workspaceParams,
        response: { 200: workspace },
      },
    },
    (request) => {
      const found = access.shown(
        gate.principalOf(request.raw),
        table.get(parseWorkspaceName(request.params.name)),
      )
      const schedule = effectiveSchedule(found, config.schedule)
      return { ...encode(found), ...nextTimesToWire(nextTimes(schedule, clock.wallMs())) }
    },
  )

  app.patch<Named & { readonly Body: Static<typeof settingsBodySchema> }>(
    '/api/workspaces/:name',
    {
      attachValidation: true,
      schema: {
        summary: 'Change the settings of a workspace in any state',
        description:
          'A JSON merge patch: a value that is left out stays, and null returns to the default. The change is on disk before the response.',
        params: workspaceParams,
        body: settingsBodySchema,
        response: { 200: workspace },
      },
    },
    async (request) => {
      const { name } = request.params
      const subject = subjectOf(request, 'workspace.set', name)
      return encode(
        await audit.follow(subject, async () =>
          editor.change(name, settingsFromWire(server.validBody(request))),
        ),
      )
    },
  )

  app.post<Named & { readonly Body: Static<typeof renameBodySchema> }>(
    '/api/workspaces/:name/rename',
    {
      attachValidation: true,
      schema: {
        summary: 'Rename a stopped virtual machine',
        params: workspaceParams,
        body: renameBodySchema,
        response: { 200: workspace },
      },
    },
    async (request) => {
      const { name } = request.params
      const subject = subjectOf(request, 'workspace.rename', name)
      return encode(
        await audit.follow(subject, async () => {
          const { name: to } = server.validBody(request)
          access.requireSameBeginning(gate.principalOf(request.raw), name, to)
          return renamer.rename(name, to)
        }),
      )
    },
  )

  app.post<Named & { readonly Body: Static<typeof forkBodySchema> }>(
    '/api/workspaces/:name/fork',
    {
      attachValidation: true,
      schema: {
        summary: 'Create workspaces with the files and settings of another',
        description:
          'Responds when all of them are running. The source keeps running, and is paused while its files are copied. When one cannot be created, none is.',
        params: workspaceParams,
        body: forkBodySchema,
        response: { 201: forkedSchema },
      },
    },
    async (request, reply) => {
      const { name } = request.params
      const subject = subjectOf(request, 'workspace.fork', name)
      const forked = await audit.follow(subject, async () => {
        const creator = access.creatorOf(gate.principalOf(request.raw))
        return forker.fork(name, { ...server.validBody(request), creator })
      })
      return reply.status(201).send(forkedToWire(forked, encode))
    },
  )

  app.get<Named>(
    '/api/workspaces/:name/timeline',
    {
      schema: {
        summary: 'Show what happened to a workspace: phases of its starts, and states with their reasons',
        params: workspaceParams,
        response: { 200: timelineSchema },
      },
    },
    (request) => timelineToWire(timeline.of(table.get(parseWorkspaceName(request.params.name)).name)),
  )

  for (const action of ['start', 'stop', 'suspend', 'reset'] as const) {
    app.post<Named>(
      `/api/workspaces/:name/${action}`,
      {
        schema: {
          summary: ACTIONS[action],
          params: workspaceParams,
          response: { 200: workspace },
        },
      },
      async (request) => {
        const { name } = request.params
        const subject = subjectOf(request, `workspace.${action}`, name)
        return encode(await audit.follow(subject, () => lifecycle[action](name)))
      },
    )
  }

  app.delete<Named & { readonly Querystring: Static<typeof removeQuerySchema> }>(
    '/api/workspaces/:name',
    {
      schema: {
        summary: 'Delete a workspace in any state',
        params: workspaceParams,
        querystring: removeQuerySchema,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { name } = request.params
      const keepVolume = request.query.keep_volume === true
      const subject = subjectOf(request, 'workspace.delete', name)
      await audit.follow(subject, () => lifecycle.remove(name, keepVolume))
      return reply.status(204).send(null)
    },
  )
}
