import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'

/** Serves the API's description, made from the routes' own schemas: `GET /openapi.json`, and a page at `/reference`. */
export async function serveReference(
  app: FastifyInstance,
  info: { readonly title: string; readonly version: string; readonly description: string },
): Promise<void> {
  await app.register(swagger, { openapi: { openapi: '3.1.0', info } })
  await app.register(swaggerUi, {
    routePrefix: '/reference',
    staticCSP: true,
    // The page's own JavaScript calls the API that it is served by.
    transformStaticCSP: (header) => `${header}; frame-ancestors 'none'`,
  })
  app.get('/openapi.json', { schema: { hide: true } }, () => app.swagger())
}
