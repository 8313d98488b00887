import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { isFault } from '../../../../lib/errors/fault.ts'
import { ignore } from '../../../../lib/errors/ignore.ts'
import { httpFault } from '../../../../lib/http/faults.ts'
import type { Diversion, UpgradeHandler } from '../../../../lib/http/diversion.ts'
import { NOTICE_HEADERS, renderNotice } from '../../../../lib/http/notice-page.ts'
import { checkOrigin } from '../../../../lib/http/origin-rule.ts'
import { sendOwnAnswer } from '../../../../lib/http/proxy/answer.ts'
import {
  type CheckedRequest,
  checkRequest,
  isForwardedUpgrade,
} from '../../../../lib/http/proxy/checked-request.ts'
import { forward, type Forwarding } from '../../../../lib/http/proxy/forward.ts'
import { ClientAddress } from '../../../../lib/http/proxy/client-address.ts'
import { type Forwarder, isLoop } from '../../../../lib/http/proxy/forwarded-headers.ts'
import { responseOn } from '../../../../lib/http/proxy/socket-response.ts'
import { STATUS_OF_KIND } from '../../../../lib/http/status.ts'
import type { Logger } from '../../../../lib/log/logger.ts'
import { errorToWire } from '../../../api/error.ts'
import { fault } from '../../../errors.ts'
import { parseWorkspaceName } from '../../../name.ts'
import type { PassUse, PortPasses } from '../../../tickets/port-passes.ts'
import { type Principal, SERVER } from '../../../team/access-control.ts'
import { openTunnel, parsePort } from '../../../tunnel/open-tunnel.ts'
import type { PortHosts, PortTarget } from '../../../tunnel/port-host.ts'
import { subjectOf } from '../audit-subject.ts'
import { type E2bParts, hasInterpreter } from '../e2b/sandbox-request.ts'
import type { HttpFace } from '../face.ts'
import type { Gate } from '../team/gate.ts'
import { grantCookie, grantsOf } from './grant-cookie.ts'
import { portFailure, portNotice } from './port-failure.ts'
import { extractTicket } from './ticket-parameter.ts'
import { type PortAddressing, toBrowser, toGuest } from './port-headers.ts'

/** How long a browser that presented a ticket for a port may return to it. */
const GRANT_MS = 12 * 3_600_000
const ANSWER_MS = 120_000
const UPGRADE_MS = 30_000
/** Time that a browser waits for a start before it gets a page. */
const PAGE_MS = 1_000
const AGAIN_SECONDS = 2
/** Codes of errors of a port that nothing in the workspace serves. */
const NOTHING_THERE = new Set(['CONNECT_FAILED', 'WORKSPACE_NOT_FOUND', 'WORKSPACE_NOT_RUNNING'])

/** A path of the API below which a port's content is served. */
const PORT_PATH = /^(\/api\/workspaces\/([^/?]*)\/proxy\/([^/?]*))(\/.*)$/
/** The same for a raw request target, which may have the absolute form. */
const PORT_TARGET = /^(?:https?:\/\/[^/?]*)?\/api\/workspaces\/[^/?]*\/proxy\/[^/?]*\//

interface PortProxyParts {
  readonly face: Pick<HttpFace, 'table' | 'entrance' | 'activity' | 'tickets' | 'config' | 'audit' | 'access'>
  readonly hosts: PortHosts
  readonly passes: PortPasses
  /** Host names and tokens of sandboxes for clients of E2B; undefined if the server has none. */
  readonly e2b: E2bParts | undefined
  readonly gate: Gate
  readonly hasTls: boolean
  readonly logger: Logger
}

/** Proxies requests to ports inside workspaces, addressed either by host name or by a path of the API. */
export class PortProxy implements Diversion {
  readonly #parts: PortProxyParts
  readonly #forwarder: Forwarder
  /** Responses in progress; a stream from a workspace may never end. */
  readonly #answers = new Set<ServerResponse>()

  constructor(parts: PortProxyParts) {
    this.#parts = parts
    const clients = new ClientAddress(parts.face.config.http.trustedProxies)
    this.#forwarder = { name: 'workspace', protocol: parts.hasTls ? 'https' : 'http', clients }
  }

  /** Returns whether a request is for a port, by its host (which then serves no API) or by its path. */
  readonly isFor = ({ headers, url = '' }: IncomingMessage): boolean => {
    return this.#hostTarget(headers.host) !== undefined || PORT_TARGET.test(url)
  }

  readonly acceptsUpgrade = isForwardedUpgrade

  readonly answer: Diversion['answer'] = async (request, response, passOn) => {
    try {
      const checked = checkRequest(request)
      const route = this.#routeOf(checked)
      this.#checkOrigin(request, route, false)
      const { addressing, target, ticket, path } = route
      if (addressing.is === 'host' && ticket !== undefined)
        return this.#auditing(request, target, () => this.#enter(response, target, ticket, path))
      if (hasInterpreter(this.#parts.e2b, request) && this.#grantee(request, target) === undefined)
        return passOn()
      await this.#forward(checked, response, route)
    } catch (error) {
      const isFree = isFault(error) && NOTHING_THERE.has(error.code)
      if (isFree && hasInterpreter(this.#parts.e2b, request)) return passOn()
      this.#refuse(request, response, error)
    }
  }

  readonly endAnswers = (): void => {
    for (const answer of this.#answers) answer.destroy()
  }

  readonly upgrade: UpgradeHandler = async (request, socket) => {
    const checked = checkRequest(request)
    const route = this.#routeOf(checked)
    this.#checkOrigin(request, route, true)
    // Before Node 24.9, every upgrade request is handled here.
    const upgrade = isForwardedUpgrade(request) ? socket : undefined
    await this.#forward(checked, responseOn(socket, request), route, upgrade)
  }

  /** @throws UNAUTHORIZED and the errors of `openTunnel` */
  async #forward(
    checked: CheckedRequest,
    response: ServerResponse,
    { addressing, target, path, ticket }: PortRoute,
    upgrade?: Forwarding['upgrade'],
  ): Promise<void> {
    const { message } = checked
    const principal =
      addressing.is === 'host' ? this.#requireGrant(message, target) : this.#admit(message, target, ticket)
    const connection = await this.#open(checked, target, ticket === undefined)
    if (connection === 'starting') return sendStarting(message, response, target)
    const client = upgrade ?? response
    if (client.destroyed) return void connection.destroy()
    client.once('close', this.#parts.face.activity.begin(target.workspace))
    this.#parts.gate.follow(principal, target.workspace, client)
    if (upgrade === undefined) {
      this.#answers.add(response)
      response.once('close', () => {
        this.#answers.delete(response)
        connection.destroy()
      })
    }
    const timeoutMs = upgrade === undefined ? ANSWER_MS : UPGRADE_MS
    const { gate } = this.#parts
    const hasToken = gate.requiresToken && gate.hasToken(message)
    forward({
      request: checked,
      response,
      upgrade,
      upstream: { createConnection: () => connection },
      target: path,
      headers: toGuest(checked, addressing, { forwarder: this.#forwarder, hasToken }),
      toClient: (answer) => toBrowser(answer, addressing),
      timeoutMs,
      refuse: (failure) => {
        connection.destroy()
        void portFailure(failure, target, timeoutMs, () => this.#connect(target)).then((why) =>
          this.#refuse(message, response, why),
        )
      },
    })
  }

  /** Admits a request that has a token or a ticket in its path. @throws UNAUTHORIZED */
  #admit(request: IncomingMessage, target: PortTarget, ticket: string | undefined): Principal {
    const { gate } = this.#parts
    if (gate.hasToken(request)) {
      gate.require(request, target.workspace, 'use')
      return gate.principalOf(request)
    }
    return this.#auditing(request, target, () => this.#redeem(ticket, target).holder)
  }

  /**
   * Consumes a ticket, or uses a link, and returns who holds it and how long a browser may return.
   *
   * @throws UNAUTHORIZED, WORKSPACE_NOT_FOUND and ACCESS_DENIED
   */
  #redeem(ticket: string | undefined, { workspace: name, port }: PortTarget): PassUse {
    const { passes, face } = this.#parts
    const { tickets, access, table } = face
    const workspace = table.find(name)
    const link = ticket && workspace && passes.find('link', { workspace, port }, ticket)
    const holder = link ? link.holder : tickets.redeem(ticket, name, { for: 'port', port })
    access.require(holder, name, 'use')
    return { holder, leftMs: Math.min(GRANT_MS, link ? link.leftMs : GRANT_MS) }
  }

  /** Runs `admit` and writes a refusal (missing or invalid token, ticket or grant) to the audit log. */
  #auditing<T>(request: IncomingMessage, target: PortTarget, admit: () => T): T {
    const subject = subjectOf({ raw: request }, 'port.enter', target.workspace)
    return this.#parts.face.audit.admission(subject, admit)
  }

  /**
   * Connects to a port. A browser does not wait for a workspace that takes long to start, unless it cannot repeat the request.
   */
  async #open(
    request: CheckedRequest,
    { workspace, port }: PortTarget,
    isRepeatable: boolean,
  ): Promise<Duplex | 'starting'> {
    if (isLoop(request, this.#forwarder.name))
      throw fault(
        'INVALID_REQUEST',
        'proxy loop detected: this request has already passed through this server',
      )
    const { table, audit } = this.#parts.face
    const isRunning = table.find(workspace)?.state.is === 'running'
    const opening = this.#connect({ workspace, port })
    const getsPage = !isRunning && isRepeatable && isNavigation(request.message)
    if (getsPage && !(await settlesWithin(opening, PAGE_MS))) {
      void opening
        .then((late) => late.destroy())
        .catch(ignore('the page that is shown meanwhile tries again'))
      return 'starting'
    }
    const connection = await opening
    audit.enter(subjectOf({ raw: request.message }, 'port.enter', workspace), `${workspace} ${port}`)
    return connection
  }

  #connect({ workspace, port }: PortTarget): Promise<Duplex> {
    const { entrance, config } = this.#parts.face
    return openTunnel(entrance, workspace, String(port), config.tunnel.denyPorts)
  }

  /** Returns the port a request is for, without normalizing the target. @throws INVALID_REQUEST and INVALID_PORT */
  #routeOf({ message, target }: CheckedRequest): PortRoute {
    const host = this.#hostTarget(message.headers.host)
    return host === undefined
      ? routeBelowPath(target)
      : { target: this.#canonical(host), addressing: { is: 'host' }, ...extractTicket(target) }
  }

  /** Returns the port that a host name denotes, except for that of the interface inside a sandbox. */
  #hostTarget(host: string | undefined): PortTarget | undefined {
    const { hosts, e2b } = this.#parts
    const target = hosts.parse(host) ?? e2b?.hosts.parsePort(host)
    return e2b?.hosts.isInterface(host) === true ? undefined : target
  }

  #canonical(target: PortTarget): PortTarget {
    const workspace = this.#parts.face.table.find(target.workspace)
    return workspace === undefined ? target : { ...target, workspace: workspace.name }
  }

  /** Returns who may reach a port by its host name. @throws UNAUTHORIZED */
  #requireGrant(request: IncomingMessage, target: PortTarget): Principal {
    const grantee = this.#grantee(request, target)
    if (grantee !== undefined) return grantee
    return this.#auditing(request, target, () => {
      throw httpFault(
        'UNAUTHORIZED',
        `port ${target.port} of workspace "${target.workspace}" requires authorization; open it from the server's web page`,
      )
    })
  }

  #grantee(request: IncomingMessage, target: PortTarget): Principal | undefined {
    if (!this.#parts.gate.requiresToken || this.#hasTrafficToken(request, target)) return SERVER
    return this.#holderOf(request, target)
  }

  #hasTrafficToken(request: IncomingMessage, { workspace: name }: PortTarget): boolean {
    const { e2b, face } = this.#parts
    const workspace = face.table.find(name)
    return e2b !== undefined && workspace !== undefined && e2b.access.admitsTraffic(request, workspace)
  }

  /** Returns the holder of a valid grant for the port: pages of sibling hosts may have added cookies of that name. */
  #holderOf(request: IncomingMessage, target: PortTarget): Principal | undefined {
    const { passes, hasTls, face } = this.#parts
    const { access, table } = face
    const workspace = table.find(target.workspace)
    if (workspace === undefined) return undefined
    return grantsOf(request, hasTls)
      .map((grant) => passes.find('grant', { workspace, port: target.port }, grant)?.holder)
      .find((holder) => holder !== undefined && access.hasLevel(holder, target.workspace, 'use'))
  }

  /** Refuses requests from pages of other origins, except from other ports of the same workspace. */
  #checkOrigin(request: IncomingMessage, { addressing, target }: PortRoute, hasEffect: boolean): void {
    if (addressing.is === 'host' && this.#isSibling(request, target)) return
    checkOrigin(request, hasEffect)
  }

  #isSibling({ headers }: IncomingMessage, target: PortTarget): boolean {
    const { origin, host } = headers
    if (origin === undefined || !URL.canParse(origin)) return false
    const { host: source } = new URL(origin)
    const workspace = this.#hostTarget(source)?.workspace
    return workspace === target.workspace.toLowerCase() && parentDomain(source) === parentDomain(host ?? '')
  }

  /** Redeems a ticket and redirects to the same URL without it, so that it appears in no history and no Referer. */
  #enter(response: ServerResponse, target: PortTarget, ticket: string, path: string): void {
    const { gate, hasTls, passes, face } = this.#parts
    const cookies: string[] = []
    if (gate.requiresToken) {
      const { holder, leftMs } = this.#redeem(ticket, target)
      const workspace = face.table.get(target.workspace)
      const grant = passes.issue('grant', { workspace, port: target.port }, holder, leftMs)
      cookies.push(grantCookie(grant.ticket, Math.ceil(leftMs / 1_000), hasTls))
    }
    response
      .writeHead(302, {
        // Two leading slashes would redirect to another host.
        location: path.replace(/^[/\\]*/, '/'),
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
        'set-cookie': cookies,
      })
      .end()
  }

  #refuse(request: IncomingMessage, response: ServerResponse, error: unknown): void {
    if (response.headersSent || response.destroyed) return void response.destroy()
    if (!isFault(error)) this.#parts.logger.error({ err: error }, 'request to a workspace port failed')
    const failure = isFault(error)
      ? error
      : httpFault('INTERNAL_ERROR', 'an internal error occurred; see the server log')
    const isBrowser = wantsPage(request)
    const body = isBrowser ? portNotice(failure) : JSON.stringify(errorToWire(failure))
    const headers = {
      ...NOTICE_HEADERS,
      'content-type': isBrowser ? 'text/html; charset=utf-8' : 'application/json',
      ...(failure.kind === 'unauthorized' && { 'www-authenticate': 'Bearer' }),
    }
    sendOwnAnswer(request, response, { status: STATUS_OF_KIND[failure.kind], headers, body })
  }
}

/** A request's target port, how it was addressed, and the path to request there. */
interface PortRoute {
  readonly target: PortTarget
  readonly addressing: PortAddressing
  /** The path sent to the workspace. */
  readonly path: string
  readonly ticket: string | undefined
}

function routeBelowPath(url: string): PortRoute {
  const [, prefix, name, portText, rest] = PORT_PATH.exec(url) ?? []
  if (prefix === undefined || portText === undefined || rest === undefined)
    throw fault(
      'INVALID_REQUEST',
      'invalid path; a workspace port is at /api/workspaces/{name}/proxy/{port}/',
    )
  const port = parsePort(portText)
  const target = { workspace: parseWorkspaceName(name), port }
  return { target, addressing: { is: 'path', prefix, port }, ...extractTicket(rest) }
}

/** Returns a host without its first label, in lower case and with its port. */
function parentDomain(host: string): string {
  return host.toLowerCase().slice(host.indexOf('.'))
}

/** Returns whether the client is a browser, which gets errors as a page. */
function wantsPage({ headers }: IncomingMessage): boolean {
  return /\btext\/html\b/.test(headers.accept ?? '')
}

/** Returns whether the request is for a page, and repeating it changes nothing. */
function isNavigation(request: IncomingMessage): boolean {
  return request.method === 'GET' && request.headers.upgrade === undefined && wantsPage(request)
}

async function settlesWithin(work: Promise<unknown>, limitMs: number): Promise<boolean> {
  const late = new AbortController()
  const settled = work.then(
    () => true,
    () => true,
  )
  const isSettled = await Promise.race([settled, delay(limitMs, false, { signal: late.signal })])
  late.abort()
  return isSettled
}

/** Sends a page that asks again until the workspace runs. */
function sendStarting(
  request: IncomingMessage,
  response: ServerResponse,
  { workspace, port }: PortTarget,
): void {
  const message = `Workspace "${workspace}" is starting. This page then shows port ${port}.`
  sendOwnAnswer(request, response, {
    status: 503,
    headers: {
      ...NOTICE_HEADERS,
      'content-type': 'text/html; charset=utf-8',
      'retry-after': String(AGAIN_SECONDS),
      refresh: String(AGAIN_SECONDS),
    },
    body: renderNotice({ title: 'Starting', message }),
  })
}
