import type { Static } from 'typebox'
import type { HttpServer } from '../../../../lib/http/server.ts'
import { Type } from '../../../../lib/schema/type.ts'
import { DEFAULT_LINES, logQuerySchema, logSchema, portsSchema, portsToWire } from '../../../api/inside.ts'
import { workspaceParams } from '../../../api/parameters.ts'
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
        params: workspaceParams,
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

  app.get<{ Params: { readonly name: string }; Querystring: Static<typeof logQuerySchema> }>(
    '/api/workspaces/:name/logs',
    {
      schema: {
        summary: "Read the last lines of a container's log or a virtual machine's console",
        params: workspaceParams,
        querystring: logQuerySchema,
        response: { 200: logSchema, ...failures },
      },
    },
    async (request) => {
      const { lines = DEFAULT_LINES } = request.query
      const workspace = table.get(parseWorkspaceName(request.params.name))
      return { lines: await getBackend(backends, workspace.backend).logs(workspace.name, lines) }
    },
  )
}
