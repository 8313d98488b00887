import { Type } from '../../../../lib/schema/type.ts'
import type { HttpServer } from '../../../../lib/http/server.ts'
import { changeSchema, snapshotSchema } from '../../../api/event.ts'
import type { HttpFace } from '../face.ts'
import { WorkspaceFeed } from '../workspace-feed.ts'

/** What becomes of the workspaces, as it happens. */
export function eventRoute({ app, openStream }: HttpServer, { table }: HttpFace): void {
  const feed = new WorkspaceFeed(table)
  app.get(
    '/api/events',
    {
      // The answer to HEAD would never end.
      exposeHeadRoute: false,
      schema: {
        summary: 'Stream of what becomes of the workspaces',
        description:
          'Server-sent events: first `snapshot` (all workspaces), then a `workspace` event for each that is created, ' +
          'changed or deleted. Whoever reads too slowly is dropped; whoever connects again gets a new snapshot.',
        response: {
          200: {
            description: 'data of `snapshot` and of `workspace` events',
            content: { 'text/event-stream': { schema: Type.Union([snapshotSchema, changeSchema]) } },
          },
          '4xx': Type.Ref('Error'),
        },
      },
    },
    (_request, reply) => feed.add(openStream(reply)),
  )
}
