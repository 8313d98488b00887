import type { Static } from 'typebox'
import { abortOnClose } from '../../../../lib/http/abort-on-close.ts'
import type { HttpServer } from '../../../../lib/http/server.ts'
import type { SseStream } from '../../../../lib/sse/sse-stream.ts'
import {
  DEFAULT_LINES,
  DEFAULT_WAIT_MS,
  logQuerySchema,
  logSchema,
  portSchema,
  portsSchema,
  portToWire,
  waitQuerySchema,
} from '../../../api/inside.ts'
import { portParams, workspaceParams } from '../../../api/parameters.ts'
import { getBackend } from '../../../lifecycle/get-backend.ts'
import { getRunning } from '../../../lifecycle/get-running.ts'
import { parseWorkspaceName } from '../../../name.ts'
import { refuseDenied } from '../../../tunnel/denied-ports.ts'
import { listListeningPorts, type ListeningPort, waitForPort } from '../../../tunnel/listening-ports.ts'
import { parsePort } from '../../../tunnel/open-tunnel.ts'
import type { HttpFace } from '../face.ts'
import { wantsEvents } from '../stream-progress.ts'

/** Registers the routes for a workspace's open ports and log. */
export function insideRoutes({ app, openStream }: HttpServer, face: HttpFace): void {
  const { table, backends, config, activity } = face
  const listPorts = (nameText: string): Promise<readonly ListeningPort[]> => {
    const name = parseWorkspaceName(nameText)
    const { workspace, backend } = getRunning(table, backends, name, 'conflict')
    return listListeningPorts(backend, workspace.name, config.tunnel.denyPorts)
  }

  app.get<{ Params: { readonly name: string } }>(
    '/api/workspaces/:name/ports',
    {
      schema: {
        summary: 'List TCP ports open inside a running workspace',
        params: workspaceParams,
        response: { 200: portsSchema },
      },
    },
    async (request) => ({ ports: (await listPorts(request.params.name)).map(portToWire) }),
  )

  app.get<{
    Params: { readonly name: string; readonly port: string }
    Querystring: Static<typeof waitQuerySchema>
  }>(
    '/api/workspaces/:name/ports/:port/wait',
    {
      // It would wait as well.
      exposeHeadRoute: false,
      schema: {
        summary: 'Wait until a program listens on a TCP port inside a running workspace',
        params: portParams,
        querystring: waitQuerySchema,
        response: { 200: portSchema },
      },
    },
    async (request, reply) => {
      const { params, query } = request
      const port = parsePort(params.port)
      refuseDenied(port, config.tunnel.denyPorts)
      const { name } = table.get(parseWorkspaceName(params.name))
      const end = activity.begin(name)
      try {
        const timeoutMs = query.timeout_ms ?? DEFAULT_WAIT_MS
        return portToWire(await waitForPort(port, timeoutMs, () => listPorts(name), abortOnClose(reply)))
      } finally {
        end()
      }
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
