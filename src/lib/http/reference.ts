import Fastify, { type FastifyInstance, type RouteOptions } from 'fastify'
import { type ErrorShape, mapErrors } from './errors.ts'
import { lazyCompilers } from './lazy-compilers.ts'

/** Browsers request one; the default is that of the page's library. */
const EMPTY_ICON = {
  filename: 'icon.svg',
  rel: 'icon',
  type: 'image/svg+xml',
  sizes: 'any',
  content: '<svg xmlns="http://www.w3.org/2000/svg"/>',
}

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
  for (const schema of Object.values(app.getSchemas())) reference.addSchema(withWidths(schema))
  await reference.register(swagger, {
    openapi: { openapi: '3.1.0', info },
    // Generated clients name their types after the schemas.
    refResolver: {
      buildLocalReference: ({ $id }, _baseUri, _fragment, i) =>
        typeof $id === 'string' ? $id : `schema-${i}`,
    },
  })
  await reference.register(swaggerUi, {
    routePrefix: '/reference',
    theme: { title: info.title, favicon: [EMPTY_ICON] },
    // Without a bar that names the page's library.
    uiConfig: { layout: 'BaseLayout' },
    // The default upgrades requests to https, which many servers do not have. The page's JavaScript calls this API.
    staticCSP: "default-src 'self'; img-src 'self' data:; object-src 'none'; frame-ancestors 'none'",
  })
  for (const route of routes) reference.route(describedRoute(route, errors.schema))
  await reference.ready()
  return reference
}

/** Returns a route that only describes another, with the errors that every route may return. */
function describedRoute({ method, url, schema = {} }: RouteOptions, error: object): RouteOptions {
  // OpenAPI has no name for the rest of a path.
  const path = url.replace(/\*$/, ':path')
  const own: object = schema.response ?? {}
  const hasSuccess = Object.keys(own).some((status) => /^[1-3]/.test(status))
  const response = {
    ...(!hasSuccess && { 200: { description: 'Success' } }),
    '4xx': error,
    '5xx': error,
    ...own,
  }
  return {
    method,
    url: path,
    schema: withWidths({ operationId: operationIdOf(String(method), path), ...schema, response }),
    handler: () => undefined,
    exposeHeadRoute: false,
  }
}

/** Returns a copy of a schema in which integers that may exceed 32 bits say so: generated clients assume 32. */
function withWidths<T>(schema: T): T {
  if (Array.isArray(schema)) return schema.map(withWidths) as T
  if (typeof schema !== 'object' || schema === null) return schema
  const { type, maximum = Infinity } = schema as { readonly type?: unknown; readonly maximum?: number }
  const copy = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, withWidths(value)]))
  return (type === 'integer' && maximum >= 2 ** 31 ? { ...copy, format: 'int64' } : copy) as T
}

/** Returns a name for generated clients: `GET /api/workspaces/:name/logs` is `getWorkspacesByNameLogs`. */
function operationIdOf(method: string, path: string): string {
  const words = path
    .replace(/^\/_?api(?:\/v1)?(?=\/)/, '')
    .replaceAll('/:', '/by-')
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== '')
  return method.toLowerCase() + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
}
