import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Server as TlsServer } from 'node:tls'
import Fastify, {
  type FastifyContextConfig,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
  type onRequestHookHandler,
  LogController,
} from 'fastify'
import type { Logger } from '../log/logger.ts'
import { isFault } from '../errors/fault.ts'
import { noticeLoss } from '../connection/notice-loss.ts'
import { SseStream } from '../sse/sse-stream.ts'
import { AnswerOrder } from './answer-order.ts'
import { type ErrorShape, mapErrors, sendFault, toFault } from './errors.ts'
import type { Diversion } from './diversion.ts'
import { httpFault } from './faults.ts'
import { createHostRule } from './host-rule.ts'
import { acceptOnlyJson } from './json-body.ts'
import { lazyCompilers } from './lazy-compilers.ts'
import { createMetrics, type Metrics, type RequestHandler, serveMetrics } from './metrics.ts'
import { checkOrigin } from './origin-rule.ts'
import { type ApiInfo, serveReference } from './reference.ts'
import { createTokenRule, createTokenTest, type Secret, type TokenTest } from './token-rule.ts'
import { Upgrades } from './upgrades.ts'

const STOP_GRACE_MS = 8_000
/** Time for a stream's reader to receive the last data. */
const STREAM_GRACE_MS = 500
const IDLE_SWEEP_MS = 50
const BODY_LIMIT_BYTES = 2 ** 20
const HEADER_LIMIT_BYTES = 16 * 1024

/** Headers of every response. */
export const COMMON_HEADERS = { 'x-content-type-options': 'nosniff' } as const

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Set on a GET route with side effects: it gets the cross-origin check of a POST (threat H3). */
    readonly hasEffect?: boolean
    /** Set on a POST route without side effects: it requires the token only if a GET does. */
    readonly hasNoEffect?: boolean
    /** Set on public resources that are needed to enter the token: a page and its assets. */
    readonly needsNoToken?: boolean
    /** Set on a route with a body that may take longer than other requests; the route must limit the time without data. */
    readonly hasLongBody?: boolean
  }
}

/** PEM texts of a certificate chain and its private key. */
export interface Certificate {
  readonly cert: string
  readonly key: string
}

/** Options of an HTTP server. */
export interface HttpServerOptions {
  readonly info: ApiInfo
  readonly logger: Logger
  readonly allowedHosts: readonly string[]
  readonly errors: ErrorShape
  /** The token that requests require, or a test for valid ones; undefined if none is required. */
  readonly token?: string | Secret | TokenTest | undefined
  /** Called for each request with a missing or wrong token. */
  readonly onUnauthorized?: (request: IncomingMessage) => void
  /** Requests that require the token; default: all. */
  readonly tokenGuards?: 'all' | 'changes'
  /** Additional guard of every request, including those for the API's description and the metrics. */
  readonly admit?: onRequestHookHandler
  /** Another server that handles some requests before routing. */
  readonly divert?: Diversion
  /** Returns a path below which a request's target is served, for hosts with a separate API. */
  readonly prefixFor?: (host: string | undefined) => string | undefined
  /** A route that can answer some of its requests before routing. */
  readonly early?: EarlyRoute | undefined
  /** Enables TLS. */
  readonly tls?: Certificate | undefined
  /** Header and request timeouts; the defaults stop slow clients (threat H4), tests shorten them. */
  readonly timeouts?: { readonly headersMs: number; readonly requestMs: number; readonly checkMs: number }
}

/**
 * Answers requests of one route before the router, of whose checks only that of the host has been made. It must refuse
 * nothing: a request with any doubt is routed.
 */
export interface EarlyRoute {
  /** The route that its answers are counted under. */
  readonly route: string
  /** Answers a request and returns the status; undefined, without a response, if the request must be routed. */
  readonly answer: (request: IncomingMessage, response: ServerResponse) => number | undefined
}

/** Parts of a request on a route with `attachValidation`. */
interface ValidatedRequest<T> {
  readonly body: T
  readonly validationError?: Error
}

/** The HTTP server shared by all programs; a program adds its routes to `app`. */
export interface HttpServer {
  readonly app: FastifyInstance
  readonly metrics: Metrics
  /** Upgraded connections. */
  readonly upgrades: Upgrades
  /** Whether a request has the token; true if none is required. For routes that accept alternatives. */
  readonly hasToken: (request: IncomingMessage) => boolean
  /** Returns a body, or throws its violation of the schema, on routes with `attachValidation`: those that audit refusals. */
  readonly validBody: <T>(request: ValidatedRequest<T>) => T
  /** Turns a response into an event stream that closes with the server. */
  readonly openStream: (reply: FastifyReply) => SseStream
  /** Listens on an address or a Unix socket; resolves with the port (0 for a socket). */
  readonly listen: (
    at: { readonly host: string; readonly port: number } | { readonly path: string },
  ) => Promise<number>
  /** Uses another certificate for connections from now on; requires TLS. */
  readonly replaceCertificate: (certificate: Certificate) => void
  /** Cuts event streams and upgraded connections, because the token that they were requested with is no longer valid. */
  readonly cutStreams: () => void
  /** Stops accepting requests, closes event streams, gives running requests 8 s, then closes all connections. */
  readonly stop: () => Promise<void>
}

/** Creates the server used by all four programs: guards, limits, error bodies, `/openapi.json`, `/reference`, `/metrics`. */
export function createHttpServer(options: HttpServerOptions): HttpServer {
  const streams = new Set<SseStream>()
  /** Connections with a current or past event stream; a reader may keep its end open. */
  const streamSockets = new Set<Socket>()
  /** Connections without a request yet, which browsers open in advance: Node never considers them idle. */
  const unused = new Set<Socket>()
  const metrics = createMetrics()
  const { divert } = options
  const checkHost = createHostRule(options.allowedHosts)
  const guard = createGuard(options)
  const isUpgrade = (request: IncomingMessage): boolean =>
    !order.isBusy(request.socket) && upgrades.accepts(request)
  const order = new AnswerOrder(options.errors, HEADER_LIMIT_BYTES)
  const diverted = new Diverted(divert, options.prefixFor)
  const app = Fastify({
    ...fastifyOptions(options, isUpgrade),
    clientErrorHandler: order.refuse,
    ...((divert !== undefined || options.prefixFor !== undefined) && { rewriteUrl: diverted.route }),
  }) as FastifyInstance
  const upgrades = new Upgrades(
    app.server,
    { checkHost, guard, divert, order },
    options.errors,
    options.logger,
  )
  app.server.maxConnections = connectionLimit()
  app.server.on(options.tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
    noticeLoss(socket)
    unused.add(socket)
    socket.once('close', () => unused.delete(socket))
  })
  const answerEarly = createEarly(options, checkHost, metrics)
  let isStopping = false
  // One listener in place of Fastify's: an event with several copies their list for each request.
  app.server.removeAllListeners('request')
  app.server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    unused.delete(request.socket)
    order.follow(request, response)
    if (isStopping || !answerEarly(request, response)) app.routing(request, response)
  })
  // A logger per request takes a tenth of its time, and only errors are logged.
  app.setChildLoggerFactory((parent) => parent)
  acceptOnlyJson(app)
  mapErrors(app, options.errors)
  guardRoutes(app, { checkHost, guard, diverted, order })
  if (options.admit !== undefined) app.addHook('onRequest', options.admit)
  serveMetrics(app, metrics, (request) => diverted.handlerOf(request))
  serveReference(app, options.info, options.errors)

  return {
    app,
    metrics,
    upgrades,
    hasToken: options.token === undefined ? () => true : createTokenTest(options.token),
    validBody({ body, validationError }) {
      if (validationError !== undefined) throw toFault(validationError as FastifyError, options.errors)
      return body
    },
    replaceCertificate({ cert, key }) {
      ;(app.server as unknown as TlsServer).setSecureContext({ cert, key })
    },
    openStream(reply) {
      reply.hijack()
      const stream = new SseStream(reply.raw, { onDrop: () => metrics.droppedStreams.inc() })
      streams.add(stream)
      const { socket } = reply.request.raw
      streamSockets.add(socket)
      socket.once('close', () => streamSockets.delete(socket))
      void stream.closed.then(() => streams.delete(stream))
      return stream
    },
    async listen(at) {
      await app.listen('path' in at ? { path: at.path } : { host: at.host, port: at.port, backlog: 4096 })
      const address = app.server.address()
      return typeof address === 'object' && address !== null ? address.port : 0
    },
    cutStreams() {
      for (const socket of streamSockets) socket.destroy()
      upgrades.destroyAll()
    },
    async stop() {
      isStopping = true
      for (const stream of streams) stream.end()
      upgrades.destroyAll()
      for (const socket of unused) socket.destroy()
      // A connection that was busy when closing started is kept alive after its response and would delay the stop.
      const sweep = setInterval(() => app.server.closeIdleConnections(), IDLE_SWEEP_MS)
      const cutReaders = setTimeout(() => {
        streamSockets.forEach((socket) => socket.destroy())
        divert?.endAnswers()
      }, STREAM_GRACE_MS)
      const cut = setTimeout(() => app.server.closeAllConnections(), STOP_GRACE_MS)
      await app.close()
      clearInterval(sweep)
      clearTimeout(cutReaders)
      clearTimeout(cut)
    },
  }
}

/** Creates a function that answers a request early, if possible, and returns whether it did. */
function createEarly(
  { early, logger }: HttpServerOptions,
  checkHost: (request: IncomingMessage) => void,
  { requests }: Metrics,
): (request: IncomingMessage, response: ServerResponse) => boolean {
  if (early === undefined) return () => false
  return (request, response) => {
    const startMs = performance.now()
    try {
      checkHost(request)
      const status = early.answer(request, response)
      if (status === undefined) return false
      requests.count(request.method ?? '', early.route, status, performance.now() - startMs)
      return true
    } catch (error) {
      // The router refuses it again, with a response.
      if (!isFault(error)) logger.error({ err: error }, 'a request could not be answered early')
      return response.headersSent
    }
  }
}

function fastifyOptions(
  options: HttpServerOptions,
  isUpgrade: (request: IncomingMessage) => boolean,
): FastifyServerOptions {
  const { headersMs, requestMs, checkMs } = options.timeouts ?? {
    headersMs: 10_000,
    requestMs: 30_000,
    checkMs: 1_000,
  }
  const limits = {
    headersTimeout: headersMs,
    connectionsCheckingInterval: checkMs,
    maxHeaderSize: HEADER_LIMIT_BYTES,
    // Since Node 24.9; before, unknown upgrades are refused instead of ignored.
    shouldUpgradeCallback: isUpgrade,
    // Since Node 24.10: a request without a body emits no stream events, which early answers do not need. A proxy does.
    optimizeEmptyRequests: options.early !== undefined,
  }
  return {
    loggerInstance: options.logger,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: BODY_LIMIT_BYTES,
    requestTimeout: requestMs,
    connectionTimeout: 0,
    keepAliveTimeout: 72_000,
    forceCloseConnections: 'idle',
    schemaController: { compilersFactory: lazyCompilers },
    routerOptions: { maxParamLength: 2048 },
    ajv: { customOptions: { removeAdditional: false, coerceTypes: false, allErrors: false, verbose: true } },
    // For targets that cannot be decoded; no hook has set the headers.
    frameworkErrors(error: Error, request: FastifyRequest, reply: FastifyReply) {
      const fault = httpFault('INVALID_REQUEST', error.message)
      void sendFault(options.errors, fault, request, reply.status(400).headers(COMMON_HEADERS))
    },
    // Node accepts these only at creation; TLS adds its own.
    ...(options.tls === undefined ? { http: limits } : { https: { ...limits, ...options.tls } }),
  }
}

/** Creates the guard of every request with a valid host. */
function createGuard(
  options: HttpServerOptions,
): (request: IncomingMessage, hasEffect: boolean, config?: FastifyContextConfig) => void {
  const checkToken = options.token === undefined ? undefined : createTokenRule(options.token)
  return (request, hasEffect, { needsNoToken, hasNoEffect } = {}) => {
    checkOrigin(request, hasEffect)
    if (needsNoToken === true) return
    const isReading = hasNoEffect === true || (!hasEffect && /^(?:GET|HEAD)$/.test(request.method ?? ''))
    // A token that is sent must be correct on every route, so that a client can verify its server.
    const isAsked = options.tokenGuards !== 'changes' || !isReading || 'authorization' in request.headers
    if (!isAsked) return
    try {
      checkToken?.(request)
    } catch (error) {
      options.onUnauthorized?.(request)
      throw error
    }
  }
}

function guardRoutes(
  app: FastifyInstance,
  rules: {
    readonly checkHost: (request: IncomingMessage) => void
    readonly guard: ReturnType<typeof createGuard>
    readonly diverted: Diverted
    readonly order: AnswerOrder
  },
): void {
  const { checkHost, guard, diverted, order } = rules
  app.addHook('onRequest', (request, reply, done) => {
    const divert = diverted.restore(request.raw)
    // Before every response, refusals included.
    if (divert === undefined) void reply.headers(COMMON_HEADERS)
    checkHost(request.raw)
    if (divert !== undefined) {
      reply.hijack()
      void divert.answer(request.raw, reply.raw, () => {
        diverted.passOn(request)
        app.routing(request.raw, reply.raw)
      })
      return
    }
    const { config } = request.routeOptions
    guard(request.raw, config.hasEffect === true, config)
    if (config.hasLongBody === true) order.awaitLongBody(request.raw)
    done()
  })
}

/** Four fifths of the open-file limit, so that a flood of connections leaves some for work (threat H11). */
function connectionLimit(): number {
  const assumedLimit = 1024
  try {
    const limit = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return Math.floor(Number(limit ?? assumedLimit) * 0.8)
  } catch {
    return Math.floor(assumedLimit * 0.8)
  }
}

/** A route used for every diverted target, so that the router neither parses nor refuses it. */
const ANY_ROUTE = '/'

/** Diverted requests with their original targets, while they bypass the router. */
class Diverted {
  readonly #divert: Diversion | undefined
  readonly #prefixFor: (host: string | undefined) => string | undefined
  readonly #targets = new WeakMap<IncomingMessage, string>()
  /** Requests that were passed on, as Fastify saw them first. */
  readonly #passedOn = new WeakMap<IncomingMessage, FastifyRequest>()

  constructor(divert: Diversion | undefined, prefixFor: HttpServerOptions['prefixFor'] = () => undefined) {
    this.#divert = divert
    this.#prefixFor = prefixFor
  }

  /** Returns the target for routing. */
  readonly route = (request: IncomingMessage): string => {
    const { url = ANY_ROUTE } = request
    if (this.#passedOn.has(request) || this.#divert?.isFor(request) !== true)
      return `${this.#prefixFor(request.headers.host) ?? ''}${url}`
    this.#targets.set(request, url)
    return ANY_ROUTE
  }

  /** Ends the diversion of a request, which is then routed again. */
  passOn(request: FastifyRequest): void {
    this.#targets.delete(request.raw)
    this.#passedOn.set(request.raw, request)
  }

  /** Restores a diverted request's target and returns its handler; undefined for other requests. */
  restore(request: IncomingMessage): Diversion | undefined {
    const target = this.#targets.get(request)
    if (target === undefined) return undefined
    request.url = target
    return this.#divert
  }

  handlerOf(request: FastifyRequest): RequestHandler {
    if (this.#targets.has(request.raw)) return 'diverted'
    return this.#passedOn.get(request.raw) === request ? 'nothing' : 'route'
  }
}
