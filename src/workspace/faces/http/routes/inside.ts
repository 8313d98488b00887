import type { HttpServer } from '../../../../lib/http/server.ts'
import { Type } from '../../../../lib/schema/type.ts'
import { logSchema, parseLineCount, portsSchema, portsToWire } from '../../../api/inside.ts'
import { getBackend } from '../../../lifecycle/get-backend.ts'
import { getRunning } from '../../../lifecycle/get-running.ts'
import { parseWorkspaceName } from '../../../name.ts'
import { listListeningPorts } from '../../../tunnel/listening-ports.ts'
import type { HttpFace } from '../face.ts'

const failures = { '4xx': Type.Ref('Error'), '5xx': Type.Ref('Error') }

/** Registers the routes for a workspace's open ports and log. */
export function insideRoutes({ app }: HttpServer, { table, backends, config }: HttpFace): void {
  app.get<{ Params: { readonly name: string } }>(
    '/api/workspaces/:name/ports',
    {
      schema: {
        summary: 'List TCP ports open inside a running workspace',
        response: { 200: portsSchema, ...failures },
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

  app.get<{ Params: { readonly name: string }; Querystring: { readonly lines?: string } }>(
    '/api/workspaces/:name/logs',
    {
      schema: {
        summary: "Read the last lines of a container's log or a virtual machine's console",
        querystring: Type.Object(
          { lines: Type.Optional(Type.String({ description: '1 to 1000; default 200' })) },
          { additionalProperties: false },
        ),
        response: { 200: logSchema, ...failures },
      },
    },
    async (request) => {
      const count = parseLineCount(request.query.lines)
      const workspace = table.get(parseWorkspaceName(request.params.name))
      return { lines: await getBackend(backends, workspace.backend).logs(workspace.name, count) }
    },
  )
}
