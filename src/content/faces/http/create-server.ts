import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Fault } from '../../../lib/errors/fault.ts'
import { createHttpServer, type HttpServer } from '../../../lib/http/server.ts'
import type { Logger } from '../../../lib/log/logger.ts'
import { Type } from '../../../lib/schema/type.ts'
import { errorSchema, errorToWire } from '../../api/error.ts'
import { repoSchema } from '../../api/repo.ts'
import { PAGE_HEADERS } from './pages/layout.ts'
import { messagePage } from './pages/message-page.ts'
import { createAdmission } from './admission.ts'
import { invalidQuery } from './search-query.ts'
import type { ContentFace } from './face.ts'
import { logReads } from './log-reads.ts'
import { PagesInMemory } from './pages-in-memory.ts'
import { adminRoutes } from './routes/admin.ts'
import { handoffRoutes } from './routes/handoff.ts'
import { loginRoutes } from './routes/login.ts'
import { openIdRoutes } from './routes/openid.ts'
import { pageRoutes } from './routes/pages.ts'
import { readPageRoute } from './routes/read-page.ts'
import { repoRoutes } from './routes/repos.ts'
import { siteFileRoutes } from './routes/site-files.ts'
import { Gauge } from 'prom-client'

const API = /^\/_(?:api|admin|health)(?:\/|$)/

/** Creates the HTTP API of the content server, ready to listen. */
export function createContentHttp(face: ContentFace, logger: Logger): HttpServer {
  const { allowedHosts, repoDomain } = face.config.http
  const inMemory = new PagesInMemory(face)
  const server = createHttpServer({
    info: {
      title: 'Content server',
      version: face.version,
      description: 'Serves published documentation to users who are logged in.',
    },
    logger,
    allowedHosts: [
      ...allowedHosts,
      ...(repoDomain === undefined ? [] : [repoDomain, `*.${repoDomain}`]),
      ...(face.config.http.publicUrl === undefined ? [] : [new URL(face.config.http.publicUrl).hostname]),
    ],
    admit: createAdmission(face),
    early: inMemory,
    errors: {
      render: (fault) => errorToWire(forReaders(fault, logger)),
      schema: Type.Ref('Error'),
      invalidQuery,
      page: (fault, request) => errorPage(fault, request, logger),
      pageHeaders: PAGE_HEADERS,
    },
  })
  const { app } = server
  app.addSchema(errorSchema)
  app.addSchema(repoSchema)
  acceptForms(app)
  adminRoutes(server, face)
  loginRoutes(server, face)
  openIdRoutes(server, face)
  handoffRoutes(server, face)
  repoRoutes(server, face)
  readPageRoute(server, face)
  siteFileRoutes(server, face)
  pageRoutes(server, face, inMemory)
  logReads(app, face)
  contentMetrics(server, face)
  return server
}

const HEADINGS: Readonly<Record<string, string>> = {
  PAGE_NOT_FOUND: 'Page not found',
  ROUTE_NOT_FOUND: 'Page not found',
  INVALID_REQUEST: 'Invalid address',
  METHOD_NOT_ALLOWED: 'Method not allowed',
  STORE_UNAVAILABLE: 'Documentation is unavailable',
  SESSIONS_UNAVAILABLE: 'Login is unavailable',
  LOGIN_REFUSED: 'Login refused',
  TICKET_INVALID: 'This link has expired',
  EMBEDDING_REFUSED: 'Embedding refused',
  SESSION_AMBIGUOUS: 'Ambiguous login',
  PROVIDER_UNAVAILABLE: 'Login provider unavailable',
}

/** Returns an error page for browsers, or undefined for API clients, which get a JSON body. */
function errorPage(fault: Fault, { raw, missingIn }: FastifyRequest, logger: Logger): string | undefined {
  // Browsers send forms to the API too.
  if (API.test(raw.url ?? '') && raw.headers.accept?.includes('text/html') !== true) return undefined
  const { code, message } = forReaders(fault, logger)
  return messagePage(HEADINGS[code] ?? 'Request failed', message, missingIn)
}

const UNAVAILABLE: Readonly<Record<string, string>> = {
  STORE_UNAVAILABLE: 'The documentation store is not responding. Try again in a moment.',
  SESSIONS_UNAVAILABLE: 'The session store is not responding. Try again in a moment.',
}

/** Replaces a store's own message, which may contain addresses and paths, and logs it. */
function forReaders(error: Fault, logger: Logger): Fault {
  const sentence = UNAVAILABLE[error.code]
  if (sentence === undefined) return error
  // Other kinds are logged when the response is created.
  if (error.kind === 'unavailable') logger.warn({ code: error.code }, error.message)
  return new Fault(error.code, error.kind, sentence, { retryAfterS: error.retryAfterS })
}

/** Accepts the login page's form, URL-encoded by browsers. */
function acceptForms(app: FastifyInstance): void {
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: 16 * 1024 },
    (_request, body, done) => done(null, new URLSearchParams(body.toString())),
  )
}

/** Adds the cache's metrics, which are read on each scrape. */
function contentMetrics({ metrics: { registry } }: HttpServer, { cache }: ContentFace): void {
  const registers = [registry]
  const add = (name: string, help: string, value: () => number): void => {
    const gauge: Gauge = new Gauge({ name, help, registers, collect: () => gauge.set(value()) })
  }
  add('content_cache_bytes', 'Memory used by the object cache', () => cache.cachedBytes)
  add('content_cache_objects', 'Entries in the object cache', () => cache.count)
  add('content_cache_hits', 'Lookups answered from the cache', () => cache.counts.hits)
  add('content_cache_misses', 'Lookups that requested an object from the store', () => cache.counts.misses)
  add('content_cache_stale', 'Stale objects served because the store failed', () => cache.counts.stale)
}
