import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Fault } from '../../../lib/errors/fault.ts'
import { createHttpServer, type HttpServer } from '../../../lib/http/server.ts'
import type { Logger } from '../../../lib/log/logger.ts'
import { errorSchema, errorToWire } from '../../api/error.ts'
import { repoSchema } from '../../api/repo.ts'
import { messagePage } from './pages/message-page.ts'
import { createAdmission } from './admission.ts'
import type { ContentFace } from './face.ts'
import { adminRoutes } from './routes/admin.ts'
import { handoffRoutes } from './routes/handoff.ts'
import { loginRoutes } from './routes/login.ts'
import { openIdRoutes } from './routes/openid.ts'
import { pageRoutes } from './routes/pages.ts'
import { repoRoutes } from './routes/repos.ts'
import { Gauge } from 'prom-client'

const API = /^\/_(?:api|admin|health)(?:\/|$)/

/** Creates the HTTP API of the content server, ready to listen. */
export function createContentHttp(face: ContentFace, logger: Logger): HttpServer {
  const { allowedHosts, repoDomain } = face.config.http
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
    errors: {
      render: (fault) => errorToWire(forReaders(fault, logger)),
      page: (fault, request) => errorPage(fault, request, logger),
    },
  })
  const { app } = server
  // A logger for each request takes a tenth of the time of one, and says no more here.
  app.setChildLoggerFactory((parent) => parent)
  app.addSchema(errorSchema)
  app.addSchema(repoSchema)
  acceptForms(app)
  adminRoutes(server, face)
  loginRoutes(server, face)
  openIdRoutes(server, face)
  handoffRoutes(server, face)
  repoRoutes(server, face)
  pageRoutes(server, face)
  contentMetrics(server, face)
  return server
}

const HEADINGS: Readonly<Record<string, string>> = {
  PAGE_NOT_FOUND: 'There is no such page',
  ROUTE_NOT_FOUND: 'There is no such page',
  METHOD_NOT_ALLOWED: 'This page can only be read',
  STORE_UNAVAILABLE: 'The documentation cannot be read now',
  SESSIONS_UNAVAILABLE: 'Logins cannot be checked now',
  LOGIN_REFUSED: 'You may not enter',
  TICKET_INVALID: 'That way in is closed',
  EMBEDDING_REFUSED: 'This page cannot be loaded from there',
  SESSION_AMBIGUOUS: 'Your login cannot be told',
  PROVIDER_UNAVAILABLE: 'The login provider does not answer',
}

/** Sends browsers an error page, and API clients a JSON body. */
function errorPage(fault: Fault, { raw }: FastifyRequest, logger: Logger): string | undefined {
  if (API.test(raw.url ?? '')) return undefined
  const { code, message } = forReaders(fault, logger)
  return messagePage(HEADINGS[code] ?? 'That did not work', message)
}

const UNAVAILABLE: Readonly<Record<string, string>> = {
  STORE_UNAVAILABLE: 'The store does not answer. Try again in a moment.',
  SESSIONS_UNAVAILABLE: 'The server cannot look up logins. Try again in a moment.',
}

/** Replaces a store's own message, which may contain addresses and paths, and logs it. */
function forReaders(error: Fault, logger: Logger): Fault {
  const sentence = UNAVAILABLE[error.code]
  if (sentence === undefined) return error
  // Other kinds are logged where they become an answer.
  if (error.kind === 'unavailable') logger.warn({ code: error.code }, error.message)
  return new Fault(error.code, error.kind, sentence, { retryAfterS: error.retryAfterS })
}

/** The login page's form is posted as browsers do it. */
function acceptForms(app: FastifyInstance): void {
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: 16 * 1024 },
    (_request, body, done) => done(null, new URLSearchParams(body.toString())),
  )
}

/** Figures of the cache for Prometheus, looked at when it asks. */
function contentMetrics({ metrics: { registry } }: HttpServer, { cache }: ContentFace): void {
  const registers = [registry]
  const add = (name: string, help: string, value: () => number): void => {
    const gauge: Gauge = new Gauge({ name, help, registers, collect: () => gauge.set(value()) })
  }
  add('content_cache_bytes', 'Memory that the cache of objects takes', () => cache.heldBytes)
  add('content_cache_objects', 'Keys that the cache knows something of', () => cache.count)
  add('content_cache_hits', 'Looks that the cache alone answered', () => cache.counts.hits)
  add('content_cache_misses', 'Looks that the store was asked for', () => cache.counts.misses)
  add('content_cache_stale', 'Old objects that were given because the store failed', () => cache.counts.stale)
}
