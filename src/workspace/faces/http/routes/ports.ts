import type { HttpServer } from '../../../../lib/http/server.ts'
import { Type } from '../../../../lib/schema/type.ts'
import { portParams } from '../../../api/parameters.ts'
import { fault } from '../../../errors.ts'

const URL = '/api/workspaces/:name/proxy/:port/*'

/**
 * Documents workspace ports below a path of the API. `PortProxy` answers these requests before routing, with any method and
 * with targets that the router could not parse.
 */
export function portRoutes({ app }: HttpServer): void {
  const config = { needsNoToken: true }
  app.get(
    URL,
    {
      config,
      exposeHeadRoute: false,
      schema: {
        summary: 'Request a port of a workspace',
        params: Type.Object({
          ...portParams.properties,
          path: Type.String({ description: 'path below the port' }),
        }),
        description: 'Accepts all methods and WebSockets. Responses are sandboxed and have an opaque origin.',
        response: { 200: Type.Unsafe({}) },
      },
    },
    () => {
      throw fault(
        'INVALID_REQUEST',
        'the path /api/workspaces/{name}/proxy/{port}/ must not be percent-encoded',
      )
    },
  )
  app.get('/api/workspaces/:name/proxy/:port', { config, schema: { hide: true } }, ({ url }, reply) =>
    reply.redirect(url.replace(/(?=[?]|$)/, '/'), 308),
  )
}
