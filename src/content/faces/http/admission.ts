import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import { httpFault } from '../../../lib/http/faults.ts'
import { fault } from '../../errors.ts'
import { loginPath } from '../../page/next.ts'
import { parsePath, pathOf, repoOf, type RequestPath } from '../../page/request-path.ts'
import type { ServiceToken } from '../../session/service-token.ts'
import type { Session } from '../../session/session-store.ts'
import { stateOf } from '../../session/handoff.ts'
import type { ContentFace, Reader } from './face.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Set on the few routes that need no login. */
    readonly needsNoLogin?: boolean
    /** Set on the few routes that repository hosts serve too; all others are missing there (threat O6). */
    readonly isOnRepoHosts?: boolean
    /** Set on the routes that service tokens may use. */
    readonly acceptsTokens?: boolean
    /** Set on routes that answer visitors too, with what everybody may read. */
    readonly admitsVisitors?: boolean
    /** Set on routes about the repository in the parameter `repo`, which need no login for a public one. */
    readonly isOfRepo?: boolean
  }
  interface FastifyRequest {
    /** The reader; undefined on routes that need no login. */
    reader?: Reader
    /** The repository of a request to its separate host; undefined on the common host. */
    repo?: string
    /** Path of the page that is read by an address of its Markdown. */
    readPath?: RequestPath | undefined
    /** Repository on the common host that has no page at the path. */
    missingIn?: string | undefined
  }
}

/** Routes that lib/http adds. */
const OTHER_ROUTES = /^\/(?:metrics|openapi\.json|reference)(?:\/|$)/
const MAX_USER = 256
/** The route of all pages. */
export const PAGES = '/*'
/** Headers of every response on the host of a repository. */
export const REPO_HOST_HEADERS = { 'cross-origin-resource-policy': 'same-origin' } as const

/** Admits readers who have logged in, and redirects all others to the login page. */
export function createAdmission(face: ContentFace): onRequestHookHandler {
  const { openMetrics } = face.config.http
  const visitor = visitorOf(face)
  const isOpen = ({ routeOptions: { config, url = '' } }: FastifyRequest): boolean =>
    config.needsNoLogin === true || (openMetrics && OTHER_ROUTES.test(url))
  return (request, reply, done) => {
    const repo = face.hosts.repoOf(request.headers.host ?? '')
    if (repo !== undefined) checkRepoHost(request, reply, repo)
    // Reading a route's options takes time, and pages always need a login.
    const mayBeOpen = openMetrics || request.raw.url?.startsWith('/_') === true
    if (mayBeOpen && isOpen(request)) return done()
    if (face.cookies.isAmbiguous(request.raw)) throw ambiguous(face, reply)
    const settle = (reader: Reader | undefined): void => {
      const isForVisitors =
        request.routeOptions.config.admitsVisitors === true || isOfPublicRepo(face, request)
      const admitted = reader ?? (isForVisitors ? visitor : undefined)
      if (admitted === undefined) return sendToLogin(face, request, reply)
      request.reader = admitted
      done()
    }
    const secret = secretOf(request.raw)
    if (secret !== undefined && request.routeOptions.config.acceptsTokens !== true)
      throw fault('TOKEN_REFUSED', 'service tokens only read repositories, their lists and the search')
    const reader = secret === undefined ? identify(face, request.raw, repo) : programOf(face, secret)
    if (!(reader instanceof Promise)) return settle(reader)
    void reader.then(settle, done)
  }
}

/**
 * Restricts a repository's host to that repository, and to requests from its own pages: other sites may link here,
 * but load nothing from here. Only browsers send fetch metadata, which names the origin of a request even if it
 * carries cookies.
 */
function checkRepoHost(request: FastifyRequest, reply: FastifyReply, repo: string): void {
  void reply.headers(REPO_HOST_HEADERS)
  if (repo === '' || request.routeOptions.config.isOnRepoHosts !== true)
    throw fault('PAGE_NOT_FOUND', 'this host serves the pages of one repository and nothing else')
  if (isEmbedded(request.raw))
    throw fault('EMBEDDING_REFUSED', 'other repositories and sites may link to this page, but not load it')
  request.repo = repo
}

/** Whether a page of another origin loads the response, instead of a link to it. */
function isEmbedded({ headers }: IncomingMessage): boolean {
  const site = headers['sec-fetch-site']
  return (site === 'same-site' || site === 'cross-site') && headers['sec-fetch-mode'] !== 'navigate'
}

/** Removes the ambiguous cookies that can be removed from here, so that reloading is enough in most browsers. */
function ambiguous({ cookies }: ContentFace, reply: FastifyReply): Error {
  void reply.header('set-cookie', cookies.forgetShared()).header('clear-site-data', '"cookies"')
  return fault(
    'SESSION_AMBIGUOUS',
    'the browser sent several sessions, one of them set by another page; reload the page, or remove the cookies of this site',
  )
}

/** Returns the secret of a service token; other credentials are for proxies in front of the server. */
function secretOf({ headers: { authorization } }: IncomingMessage): string | undefined {
  return authorization === undefined ? undefined : /^Bearer +(cst_\S*)$/i.exec(authorization)?.[1]
}

/** @throws UNAUTHORIZED when the token is not valid */
function programOf({ tokens, grants }: ContentFace, secret: string): Reader | Promise<Reader> {
  const toReader = (token: ServiceToken | undefined): Reader => {
    if (token === undefined)
      throw httpFault('UNAUTHORIZED', 'the service token has expired, was revoked or never existed')
    return { user: '', token: token.name, sessionId: undefined, grants: grants.ofToken(token) }
  }
  const found = tokens.find(secret)
  return found instanceof Promise ? found.then(toReader) : toReader(found)
}

function identify(
  face: ContentFace,
  request: IncomingMessage,
  repo: string | undefined,
): Reader | undefined | Promise<Reader | undefined> {
  const proxied = proxiedReader(face, request)
  if (proxied !== undefined) return proxied
  const sessionId = face.cookies.sessionIdOf(request)
  const toReader = (session: Session | undefined): Reader | undefined =>
    session && sessionReader(face, sessionId, session)
  const session = face.sessions.find(sessionId, repo)
  return session instanceof Promise ? session.then(toReader) : toReader(session)
}

/** Returns the reader named by a trusted proxy. */
function proxiedReader(face: ContentFace, request: IncomingMessage): Reader | undefined {
  const user = userOfProxy(face, request)
  if (user === undefined) return undefined
  const grants = face.grants.ofProxied(user, groupsOfProxy(face, request))
  return { user, sessionId: undefined, grants }
}

function sessionReader({ grants }: ContentFace, sessionId: string | undefined, session: Session): Reader {
  return { user: session.user, sessionId, grants: grants.ofSession(session) }
}

/**
 * Returns the reader that a request for a page has been admitted as, if that needs no lookup in a store. Returns
 * undefined if the admission must decide, and for requests that it may refuse.
 *
 * @param repo of a request to its separate host
 */
export function knownReader(
  face: ContentFace,
  request: IncomingMessage,
  repo: string | undefined,
): Reader | undefined {
  if (request.headers.authorization !== undefined || face.cookies.isAmbiguous(request)) return undefined
  if (repo !== undefined && isEmbedded(request)) return undefined
  const proxied = proxiedReader(face, request)
  if (proxied !== undefined) return proxied
  const sessionId = face.cookies.sessionIdOf(request)
  if (sessionId === undefined) return visitorOf(face)
  const session = face.sessions.fresh(sessionId, repo)
  return session && sessionReader(face, sessionId, session)
}

function visitorOf({ rules }: ContentFace): Reader {
  return { user: '', sessionId: undefined, grants: rules.visitor }
}

/** Whether a request is for a page of a repository that everybody may read, or about that repository. */
function isOfPublicRepo(face: ContentFace, request: FastifyRequest): boolean {
  if (!face.rules.hasPublic) return false
  const repo = repoOfRequest(face, request)
  return repo !== undefined && face.rules.visitor.mayRead(repo)
}

function repoOfRequest({ hosts }: ContentFace, request: FastifyRequest): string | undefined {
  const { raw, routeOptions } = request
  if (routeOptions.url !== PAGES) {
    if (routeOptions.config.isOfRepo !== true) return undefined
    const { repo } = request.query as { readonly repo?: unknown }
    return request.repo ?? (typeof repo === 'string' ? repo : undefined)
  }
  const asked = parsePath(pathOf(raw))
  return asked && repoOf(hosts.inside(raw.headers.host ?? '', asked).segments)
}

/** Returns the reader of a request on a route that needs a login. */
export function readerOf({ reader }: FastifyRequest): Reader {
  // A route without a guard must not show anything.
  if (reader === undefined) throw new Error('the request has no reader')
  return reader
}

/** Returns the user named by a trusted proxy; the header counts for nothing if anybody else sends it. */
function userOfProxy({ config, addresses }: ContentFace, request: IncomingMessage): string | undefined {
  if (config.userHeader === undefined || !addresses.isProxied(request)) return undefined
  const value = request.headers[config.userHeader]
  return typeof value === 'string' && value !== '' && value.length <= MAX_USER ? value : undefined
}

/** Returns a trusted proxy's header with the groups of the user that it names. */
function groupsOfProxy({ config }: ContentFace, request: IncomingMessage): string {
  return config.groupsHeader === undefined ? '' : [request.headers[config.groupsHeader] ?? ''].flat().join()
}

function sendToLogin(face: ContentFace, request: FastifyRequest, reply: FastifyReply): void {
  // After another method the browser must request the page with GET.
  const status = request.method === 'GET' || request.method === 'HEAD' ? 302 : 303
  const path = request.raw.url ?? '/'
  const location = request.repo === undefined ? loginPath(path) : handoffPath(face, request, reply, path)
  void reply.status(status).header('cache-control', 'no-store').header('location', location).send()
}

/** Returns the common host's path that identifies the reader, and redirects back with a ticket. */
function handoffPath(
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
