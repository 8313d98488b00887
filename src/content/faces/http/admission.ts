import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import { fault } from '../../errors.ts'
import { loginPath } from '../../page/next.ts'
import { stateOf } from '../../session/handoff.ts'
import type { ContentFace, Reader } from './face.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Set on the few routes that are for everybody. */
    readonly needsNoLogin?: boolean
    /** Set on the few routes that hosts of repositories have as well; there all others are missing (threat O6). */
    readonly isOnRepoHosts?: boolean
  }
  interface FastifyRequest {
    /** Who asks; undefined on routes for everybody. */
    reader?: Reader
    /** The repository whose own host is asked; undefined on the common host. */
    repo?: string
  }
}

/** What lib/http serves beside our routes. */
const BESIDE = /^\/(?:metrics|openapi\.json|reference)(?:\/|$)/
const MAX_USER = 256

/** Lets those in who have logged in, and sends all others to the login page. */
export function createAdmission(face: ContentFace): onRequestHookHandler {
  const { openMetrics } = face.config.http
  const isOpen = ({ routeOptions: { config, url = '' } }: FastifyRequest): boolean =>
    config.needsNoLogin === true || (openMetrics && BESIDE.test(url))
  return (request, reply, done) => {
    const repo = face.hosts.repoOf(request.headers.host ?? '')
    if (repo !== undefined) checkRepoHost(request, reply, repo)
    // Looking at a route's options takes a while, and pages are for nobody but readers.
    const mayBeOpen = openMetrics || request.raw.url?.startsWith('/_') === true
    if (mayBeOpen && isOpen(request)) return done()
    if (face.cookies.isAmbiguous(request.raw)) throw ambiguous(face, reply)
    const settle = (reader: Reader | undefined): void => {
      if (reader === undefined) return sendToLogin(face, request, reply)
      request.reader = reader
      done()
    }
    const reader = readerOf(face, request.raw, repo)
    if (!(reader instanceof Promise)) return settle(reader)
    void reader.then(settle, done)
  }
}

/**
 * Leaves of a repository's host what is that repository's, for nobody's pages but its own: those of others may lead here, but
 * load nothing from here. Fetch metadata comes from browsers alone, and says who asks even where cookies are sent along.
 */
function checkRepoHost(request: FastifyRequest, reply: FastifyReply, repo: string): void {
  const { headers, routeOptions } = request
  void reply.header('cross-origin-resource-policy', 'same-origin')
  if (repo === '' || routeOptions.config.isOnRepoHosts !== true)
    throw fault('PAGE_NOT_FOUND', 'this host has the pages of one repository and nothing else')
  const site = headers['sec-fetch-site']
  if ((site === 'same-site' || site === 'cross-site') && headers['sec-fetch-mode'] !== 'navigate')
    throw fault('EMBEDDING_REFUSED', 'pages of other repositories and sites may link here, and load nothing')
  request.repo = repo
}

/** Removes what can be removed from here, so that reloading the page is enough in most browsers. */
function ambiguous({ cookies }: ContentFace, reply: FastifyReply): Error {
  void reply.header('set-cookie', cookies.forgetShared()).header('clear-site-data', '"cookies"')
  return fault(
    'SESSION_AMBIGUOUS',
    'the browser sent several sessions, one of them set by another page; reload the page, or remove the cookies of this site',
  )
}

function readerOf(
  face: ContentFace,
  request: IncomingMessage,
  repo: string | undefined,
): Reader | undefined | Promise<Reader | undefined> {
  const named = userOfProxy(face, request)
  if (named !== undefined) return { user: named, sessionId: undefined }
  const sessionId = face.cookies.sessionIdOf(request)
  const session = face.sessions.find(sessionId, repo)
  if (session instanceof Promise) return session.then((found) => found && { user: found.user, sessionId })
  return session && { user: session.user, sessionId }
}

/** Whom a proxy names that is trusted to; what anybody else sends in that header counts for nothing. */
function userOfProxy({ config, addresses }: ContentFace, request: IncomingMessage): string | undefined {
  if (config.userHeader === undefined || !addresses.isProxied(request)) return undefined
  const value = request.headers[config.userHeader]
  return typeof value === 'string' && value !== '' && value.length <= MAX_USER ? value : undefined
}

function sendToLogin(face: ContentFace, request: FastifyRequest, reply: FastifyReply): void {
  // After another method the browser is to ask for the page with GET.
  const status = request.method === 'GET' || request.method === 'HEAD' ? 302 : 303
  const path = request.raw.url ?? '/'
  const location = request.repo === undefined ? loginPath(path) : handOverPath(face, request, reply, path)
  void reply.status(status).header('cache-control', 'no-store').header('location', location).send()
}

/** To the common host, which knows the reader or asks who it is, and back with a ticket. */
function handOverPath(
  { cookies, hosts }: ContentFace,
  { raw, repo = '' }: FastifyRequest,
  reply: FastifyReply,
  next: string,
): string {
  const secret = cookies.secretOf(raw) ?? cookies.createSecret()
  void reply.header('set-cookie', cookies.secret(secret))
  const query = new URLSearchParams({ repo, state: stateOf(secret), next })
  return `${hosts.commonOrigin(raw.headers.host ?? '')}/_hand-over?${query.toString()}`
}
