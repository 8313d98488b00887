import type { HttpServer } from '../../../../lib/http/server.ts'
import { Type } from '../../../../lib/schema/type.ts'
import { fault } from '../../../errors.ts'

const URL = '/api/workspaces/:name/proxy/:port/*'

/**
 * Describes ports of workspaces below a path of the API. `PortDoor` answers requests for them before a route is looked up: any
 * method, and targets that no router would parse.
 */
export function portRoutes({ app }: HttpServer): void {
  const config = { needsNoToken: true }
  app.get(
    URL,
    {
      config,
      exposeHeadRoute: false,
      schema: {
        summary: 'What a port of a workspace serves',
        description:
          'All methods; a WebSocket passes too. Answers are shown in a sandbox and have no origin.',
        response: { 200: Type.Unsafe({}), '4xx': Type.Ref('Error'), '5xx': Type.Ref('Error') },
      },
    },
    () => {
      throw fault('INVALID_REQUEST', 'write /api/workspaces/{name}/proxy/{port}/ without percent-encoding')
    },
  )
  app.get('/api/workspaces/:name/proxy/:port', { config, schema: { hide: true } }, ({ url }, reply) =>
    reply.redirect(url.replace(/(?=[?]|$)/, '/'), 308),
  )
}
