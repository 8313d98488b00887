import type { Static } from 'typebox'
import type { HttpServer } from '../../../../lib/http/server.ts'
import type { SseStream } from '../../../../lib/sse/sse-stream.ts'
import { DEFAULT_LINES, logQuerySchema, logSchema, portsSchema, portsToWire } from '../../../api/inside.ts'
import { workspaceParams } from '../../../api/parameters.ts'
import { getBackend } from '../../../lifecycle/get-backend.ts'
import { getRunning } from '../../../lifecycle/get-running.ts'
import { parseWorkspaceName } from '../../../name.ts'
import { listListeningPorts } from '../../../tunnel/listening-ports.ts'
import type { HttpFace } from '../face.ts'
import { wantsEvents } from '../stream-progress.ts'

/** Registers the routes for a workspace's open ports and log. */
export function insideRoutes({ app, openStream }: HttpServer, { table, backends, config }: HttpFace): void {
  app.get<{ Params: { readonly name: string } }>(
    '/api/workspaces/:name/ports',
    {
      schema: {
        summary: 'List TCP ports open inside a running workspace',
        params: workspaceParams,
        response: { 200: portsSchema },
      },
    },
    async (request) => {
      const { workspace, backend } = getRunning(
        table,
        backends,
        parseWorkspaceName(request.params.name),
        'conflict',
      )
      return portsToWire(await listListeningPorts(backend, workspace.name, config.tunnel.denyPorts))
    },
  )

  app.get<{ Params: { readonly name: string }; Querystring: Static<typeof logQuerySchema> }>(
    '/api/workspaces/:name/logs',
    {
      // A HEAD request would never end.
      exposeHeadRoute: false,
      schema: {
        summary: "Read the last lines of a container's log or a virtual machine's console",
        description:
          'With `Accept: text/event-stream` the response is a stream of `line` events (`{line}`): the last lines, then new ones, ' +
          "until `end` (`{}`), when the container's main process has exited.",
        params: workspaceParams,
        querystring: logQuerySchema,
        response: { 200: logSchema },
      },
    },
    async (request, reply) => {
      const { lines = DEFAULT_LINES } = request.query
      const workspace = table.get(parseWorkspaceName(request.params.name))
      const backend = getBackend(backends, workspace.backend)
      if (!wantsEvents(request.headers.accept)) return { lines: await backend.logs(workspace.name, lines) }
      await streamLog(openStream(reply), (signal) => backend.followLogs(workspace.name, lines, signal))
      return reply
    },
  )
}

/** Sends lines no faster than the reader reads them, so that a slow reader is never dropped. */
async function streamLog(
  stream: SseStream,
  follow: (signal: AbortSignal) => AsyncIterable<string>,
): Promise<void> {
  const gone = new AbortController()
  void stream.closed.then(() => gone.abort())
  for await (const line of follow(gone.signal)) {
    stream.send({ line }, 'line')
    await stream.waitForRoom()
  }
  stream.send({}, 'end')
  stream.end()
}
