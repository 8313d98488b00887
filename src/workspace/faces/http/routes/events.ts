import { Type } from '../../../../lib/schema/type.ts'
import type { HttpServer } from '../../../../lib/http/server.ts'
import { changeSchema, snapshotSchema } from '../../../api/event.ts'
import { workspaceEncoder } from '../../../api/workspace.ts'
import type { HttpFace } from '../face.ts'
import { WorkspaceFeed } from '../workspace-feed.ts'

/** Registers the stream of workspace changes. */
export function eventRoute(
  { app, openStream }: HttpServer,
  { table, config, timeline, gate, access }: HttpFace,
): void {
  // Clients keep what they get, and a backend that is away changes no workspace.
  const encode = workspaceEncoder(config, (each) => timeline.explain(each))
  const feed = new WorkspaceFeed(table, encode, access)
  app.get(
    '/api/events',
    {
      // A HEAD request would never end.
      exposeHeadRoute: false,
      schema: {
        summary: 'Stream workspace changes',
        description:
          'Server-sent events: first `snapshot` (all workspaces), then a `workspace` event for each workspace that is created, ' +
          'changed or deleted. A client that reads too slowly is disconnected; it gets a new snapshot when it reconnects.',
        response: {
          200: {
            description: 'data of `snapshot` and of `workspace` events',
            content: { 'text/event-stream': { schema: Type.Union([snapshotSchema, changeSchema]) } },
          },
        },
      },
    },
    (request, reply) => {
      const principal = gate.principalOf(request.raw)
      feed.add(openStream(reply), principal)
    },
  )
}
