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
  for (const schema of Object.values(app.getSchemas())) reference.addSchema(forClients(schema))
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
    schema: forClients({ operationId: operationIdOf(String(method), path), ...schema, response }),
    handler: () => undefined,
    exposeHeadRoute: false,
  }
}

interface IntegerSchema {
  readonly type?: unknown
  readonly description?: string
  readonly maximum?: number
  readonly 'x-clamped'?: boolean
}

/**
 * Returns a copy of a schema for generated clients. Integers that may exceed 32 bits say so, which clients assume otherwise. Those that
 * count as their maximum if they are larger have none, because they are valid.
 */
function forClients<T>(schema: T): T {
  if (Array.isArray(schema)) return schema.map(forClients) as T
  if (typeof schema !== 'object' || schema === null) return schema
  const copy = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, forClients(value)]))
  const { type, description, maximum = Infinity, 'x-clamped': isClamped } = schema as IntegerSchema
  if (type !== 'integer') return copy as T
  if (maximum >= 2 ** 31) return { ...copy, format: 'int64' } as T
  if (isClamped !== true) return copy as T
  const { maximum: _maximum, 'x-clamped': _isClamped, ...rest } = copy
  return { ...rest, description: `${description}; a larger number counts as ${maximum}` } as T
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
