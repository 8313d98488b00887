import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import { loginPath } from '../../page/next.ts'
import { sessionIdOf } from './cookies.ts'
import type { ContentFace, Reader } from './face.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Set on the few routes that are for everybody. */
    readonly needsNoLogin?: boolean
  }
  interface FastifyRequest {
    /** Who asks; undefined on routes for everybody. */
    reader?: Reader
  }
}

/** What lib/http serves beside our routes. */
const BESIDE = /^\/(?:metrics|openapi\.json|reference)(?:\/|$)/
const MAX_USER = 256

/** Lets those in who have logged in, and sends all others to the login page. */
export function createAdmission(face: ContentFace): onRequestHookHandler {
  const { isMetricsOpen } = face.config.http
  const isOpen = ({ routeOptions: { config, url = '' } }: FastifyRequest): boolean =>
    config.needsNoLogin === true || (isMetricsOpen && BESIDE.test(url))
  return (request, reply, done) => {
    // Looking at a route's options takes a while, and pages are for nobody but readers.
    const mayBeOpen = isMetricsOpen || request.raw.url?.startsWith('/_') === true
    if (mayBeOpen && isOpen(request)) return done()
    const settle = (reader: Reader | undefined): void => {
      if (reader === undefined) return sendToLogin(request, reply)
      request.reader = reader
      done()
    }
    const reader = readerOf(face, request.raw)
    if (!(reader instanceof Promise)) return settle(reader)
    void reader.then(settle, done)
  }
}

function readerOf(
  face: ContentFace,
  request: IncomingMessage,
): Reader | undefined | Promise<Reader | undefined> {
  const named = userOfProxy(face, request)
  if (named !== undefined) return { user: named, sessionId: undefined }
  const sessionId = sessionIdOf(request)
  const session = face.sessions.find(sessionId)
  if (session instanceof Promise) return session.then((found) => found && { user: found.user, sessionId })
  return session && { user: session.user, sessionId }
}

/** Whom a proxy names that is trusted to; what anybody else sends in that header counts for nothing. */
function userOfProxy({ config, addresses }: ContentFace, request: IncomingMessage): string | undefined {
  if (config.userHeader === undefined || !addresses.isProxied(request)) return undefined
  const value = request.headers[config.userHeader]
  return typeof value === 'string' && value !== '' && value.length <= MAX_USER ? value : undefined
}

function sendToLogin(request: FastifyRequest, reply: FastifyReply): void {
  // After another method the browser is to ask for the page with GET.
  const status = request.method === 'GET' || request.method === 'HEAD' ? 302 : 303
  void reply
    .status(status)
    .header('cache-control', 'no-store')
    .header('location', loginPath(request.raw.url ?? '/'))
    .send()
}
