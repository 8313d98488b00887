import Fastify, { type FastifyInstance, type RouteOptions } from 'fastify'
import { type ErrorShape, mapErrors } from './errors.ts'
import { lazyCompilers } from './lazy-compilers.ts'

/** Title and description of an API. */
export interface ApiInfo {
  readonly title: string
  readonly version: string
  readonly description: string
}

/**
 * Serves the API's description, generated from the routes' schemas: `GET /openapi.json`, and a page at `/reference`. It is generated
 * on the first request: its modules took a fifth of a server's startup.
 */
export function serveReference(app: FastifyInstance, info: ApiInfo, errors: ErrorShape): void {
  const routes: RouteOptions[] = []
  let making: Promise<FastifyInstance> | undefined
  const reference = (): Promise<FastifyInstance> => (making ??= createReference(app, routes, info, errors))
  const hidden = { schema: { hide: true } }
  app.get('/openapi.json', hidden, async () => (await reference()).swagger())
  for (const url of ['/reference', '/reference/*'])
    app.get(url, hidden, async (request, reply) => {
      const page = await reference()
      reply.hijack()
      for (const [name, value] of Object.entries(reply.getHeaders()))
        if (value !== undefined) reply.raw.setHeader(name, value)
      page.routing(request.raw, reply.raw)
    })
  app.addHook('onRoute', (route) => {
    if (route.method !== 'HEAD') routes.push(route)
  })
}

/** Creates a separate server that has only the routes' schemas and handles only requests for the page. */
async function createReference(
  app: FastifyInstance,
  routes: readonly RouteOptions[],
  info: ApiInfo,
  errors: ErrorShape,
): Promise<FastifyInstance> {
  const [{ default: swagger }, { default: swaggerUi }] = await Promise.all([
    import('@fastify/swagger'),
    import('@fastify/swagger-ui'),
  ])
  const reference: FastifyInstance = Fastify({ schemaController: { compilersFactory: lazyCompilers } })
  mapErrors(reference, errors)
  for (const schema of Object.values(app.getSchemas())) reference.addSchema(schema)
  await reference.register(swagger, { openapi: { openapi: '3.1.0', info } })
  await reference.register(swaggerUi, {
    routePrefix: '/reference',
    staticCSP: true,
    // The page's JavaScript calls this API.
    transformStaticCSP: (header) => `${header}; frame-ancestors 'none'`,
  })
  const failures = { '4xx': errors.schema, '5xx': errors.schema }
  for (const { method, url, schema = {} } of routes) {
    const own: object = schema.response ?? {}
    const success = Object.keys(own).some((status) => /^[1-3]/.test(status))
      ? {}
      : { 200: { description: 'Success' } }
    const response = { ...success, ...failures, ...own }
    reference.route({
      method,
      url,
      schema: { ...schema, response },
      handler: () => undefined,
      exposeHeadRoute: false,
    })
  }
  await reference.ready()
  return reference
}
