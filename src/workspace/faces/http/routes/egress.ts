import type { HttpServer } from '../../../../lib/http/server.ts'
import { egressRequestToWire, egressSchema, egressToWire } from '../../../api/egress.ts'
import { workspaceParams } from '../../../api/parameters.ts'
import { parseWorkspaceName } from '../../../name.ts'
import type { HttpFace } from '../face.ts'
import { wantsEvents } from '../stream-progress.ts'

/** Registers the route for the requests of a workspace's egress proxy. */
export function egressRoute({ app, openStream }: HttpServer, { table, egress }: HttpFace): void {
  app.get<{ Params: { readonly name: string } }>(
    '/api/workspaces/:name/egress',
    {
      // A HEAD request would never end.
      exposeHeadRoute: false,
      schema: {
        summary: 'List the requests that a workspace made through its egress proxy',
        description:
          'With `Accept: text/event-stream` the response is a stream of `request` events: the last requests, then new ones.',
        params: workspaceParams,
        response: { 200: egressSchema },
      },
    },
    async (request, reply) => {
      const { name, networkLimits } = table.get(parseWorkspaceName(request.params.name))
      const log = egress.logOf(name)
      if (!wantsEvents(request.headers.accept))
        return egressToWire(networkLimits?.egressProfile, await egress.isOpen(name), log.entries)
      const stream = openStream(reply)
      for (const entry of log.entries) stream.send(egressRequestToWire(entry), 'request')
      const unfollow = log.follow((entry) => stream.send(egressRequestToWire(entry), 'request'))
      void stream.closed.then(unfollow)
      return reply
    },
  )
}
