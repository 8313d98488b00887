import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { isFault, type Fault } from '../../../../lib/errors/fault.ts'
import { httpFault } from '../../../../lib/http/faults.ts'
import type { Diversion, UpgradeHandler } from '../../../../lib/http/diversion.ts'
import { NOTICE_HEADERS, renderNotice } from '../../../../lib/http/notice-page.ts'
import { checkOrigin } from '../../../../lib/http/origin-rule.ts'
import { mustClose } from '../../../../lib/http/proxy/answer.ts'
import {
  type CheckedRequest,
  checkRequest,
  isForwardedUpgrade,
} from '../../../../lib/http/proxy/checked-request.ts'
import { forward, type Forwarding, type UpstreamFailure } from '../../../../lib/http/proxy/forward.ts'
import { type Forwarder, isLoop } from '../../../../lib/http/proxy/forwarded-headers.ts'
import { responseOn } from '../../../../lib/http/proxy/socket-response.ts'
import { STATUS_OF_KIND } from '../../../../lib/http/status.ts'
import { createTokenTest } from '../../../../lib/http/token-rule.ts'
import type { Logger } from '../../../../lib/log/logger.ts'
import { errorToWire } from '../../../api/error.ts'
import { fault } from '../../../errors.ts'
import { parseWorkspaceName } from '../../../name.ts'
import { GRANT_MS, GrantTable } from '../../../tickets/grant-table.ts'
import { openTunnel, parsePort } from '../../../tunnel/open-tunnel.ts'
import type { PortHosts, PortTarget } from '../../../tunnel/port-host.ts'
import { subjectOf } from '../audit-subject.ts'
import type { HttpFace } from '../face.ts'
import { grantCookie, grantsOf } from './grant-cookie.ts'
import { withoutPass } from './pass-parameter.ts'
import { type PortWay, toBrowser, toGuest } from './port-headers.ts'
import { systemClock } from '../../../../lib/clock/clock.ts'

const ANSWER_MS = 120_000
const UPGRADE_MS = 30_000

/** Below it is what the port serves. */
const PORT_PATH = /^(\/api\/workspaces\/([^/?]*)\/proxy\/([^/?]*))(\/.*)$/
/** The same in a target as it was written, which may have the absolute form. */
const PORT_TARGET = /^(?:https?:\/\/[^/?]*)?\/api\/workspaces\/[^/?]*\/proxy\/[^/?]*\//

interface PortDoorParts {
  readonly face: Pick<HttpFace, 'table' | 'backends' | 'activity' | 'tickets' | 'config' | 'audit'>
  readonly hosts: PortHosts
  readonly token: string | undefined
  readonly hasTls: boolean
  readonly logger: Logger
}

/** Leads requests to ports inside workspaces: those for hosts that are ports', and those below a path of the API. */
export class PortDoor implements Diversion {
  readonly #parts: PortDoorParts
  readonly #grants: GrantTable
  readonly #forwarder: Forwarder
  /** Under way; what a workspace streams has no end of its own. */
  readonly #answers = new Set<ServerResponse>()
  readonly #bearsToken: (request: IncomingMessage) => boolean

  constructor(parts: PortDoorParts) {
    this.#parts = parts
    this.#grants = new GrantTable(systemClock)
    this.#forwarder = { name: 'workspace', protocol: parts.hasTls ? 'https' : 'http' }
    this.#bearsToken = parts.token === undefined ? () => false : createTokenTest(parts.token)
  }

  /** Whether a request is for a port: by its host, where nothing of the API is, or by its path. */
  readonly isFor = ({ headers, url = '' }: IncomingMessage): boolean => {
    return this.#parts.hosts.parse(headers.host) !== undefined || PORT_TARGET.test(url)
  }

  readonly acceptsUpgrade = isForwardedUpgrade

  readonly answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    try {
      const checked = checkRequest(request)
      const place = this.#placeOf(checked)
      this.#checkOrigin(request, place, false)
      const { way, target, pass, path } = place
      if (way.is === 'host' && pass !== undefined)
        return this.#recording(request, target, () => this.#enter(response, target, pass, path))
      await this.#forward(checked, response, place)
    } catch (error) {
      this.#refuse(request, response, error)
    }
  }

  readonly endAnswers = (): void => {
    for (const answer of this.#answers) answer.destroy()
  }

  readonly upgrade: UpgradeHandler = async (request, socket) => {
    const checked = checkRequest(request)
    const place = this.#placeOf(checked)
    this.#checkOrigin(request, place, true)
    // Before Node 24.9 every request to upgrade comes here.
    const upgrade = isForwardedUpgrade(request) ? socket : undefined
    await this.#forward(checked, responseOn(socket, request), place, upgrade)
  }

  /** @throws UNAUTHORIZED, and as `openTunnel` */
  async #forward(
    checked: CheckedRequest,
    response: ServerResponse,
    { way, target, path, pass }: Place,
    upgrade?: Forwarding['upgrade'],
  ): Promise<void> {
    const { message } = checked
    if (way.is === 'host') this.#demandGrant(message, target)
    else this.#admit(message, target, pass)
    const connection = await this.#open(checked, target)
    const client = upgrade ?? response
    if (client.destroyed) return void connection.destroy()
    client.once('close', this.#parts.face.activity.begin(target.workspace))
    if (upgrade === undefined) {
      this.#answers.add(response)
      response.once('close', () => {
        this.#answers.delete(response)
        connection.destroy()
      })
    }
    const timeoutMs = upgrade === undefined ? ANSWER_MS : UPGRADE_MS
    const bearsToken = this.#bearsToken(message)
    forward({
      request: checked,
      response,
      upgrade,
      upstream: { createConnection: () => connection },
      target: path,
      headers: toGuest(checked, way, { forwarder: this.#forwarder, bearsToken }),
      toClient: (answer) => toBrowser(answer, way),
      timeoutMs,
      refuse: (failure) => {
        connection.destroy()
        this.#refuse(message, response, connectFailed(failure, timeoutMs))
      },
    })
  }

  /** Accepts a pass that came with a path, or the token. @throws UNAUTHORIZED */
  #admit(request: IncomingMessage, target: PortTarget, pass: string | undefined): void {
    if (this.#parts.token === undefined || this.#bearsToken(request)) return
    this.#recording(request, target, () =>
      this.#parts.face.tickets.redeem(pass, target.workspace, { for: 'port', port: target.port }),
    )
  }

  /** Records a refusal for want of token, pass or grant. */
  #recording<T>(request: IncomingMessage, target: PortTarget, admit: () => T): T {
    const subject = subjectOf({ raw: request }, 'port.enter', target.workspace)
    return this.#parts.face.audit.admission(subject, admit)
  }

  async #open(request: CheckedRequest, { workspace, port }: PortTarget): Promise<Duplex> {
    if (isLoop(request, this.#forwarder.name))
      throw fault('INVALID_REQUEST', 'this request has come through this server before')
    const { table, backends, config, audit } = this.#parts.face
    const connection = await openTunnel(table, backends, workspace, String(port), config.tunnel.denyPorts)
    audit.enter(subjectOf({ raw: request.message }, 'port.enter', workspace), `${workspace} ${port}`)
    return connection
  }

  /** Finds the port a request is for. The target stays as it was written. @throws INVALID_REQUEST, INVALID_PORT */
  #placeOf({ message, target }: CheckedRequest): Place {
    const host = this.#parts.hosts.parse(message.headers.host)
    return host === undefined
      ? placeBelowPath(target)
      : { target: this.#known(host), way: { is: 'host' }, ...withoutPass(target) }
  }

  #known(target: PortTarget): PortTarget {
    const workspace = this.#parts.face.table.find(target.workspace)
    return workspace === undefined ? target : { ...target, workspace: workspace.name }
  }

  #demandGrant(request: IncomingMessage, target: PortTarget): void {
    if (this.#parts.token === undefined || this.#opens(request, target)) return
    this.#recording(request, target, () => {
      throw httpFault(
        'UNAUTHORIZED',
        `open port ${target.port} of workspace "${target.workspace}" from the server's page, which has the token`,
      )
    })
  }

  /** Whether one of the grants opens it: pages of neighboring hosts may add cookies of that name. */
  #opens(request: IncomingMessage, target: PortTarget): boolean {
    return grantsOf(request, this.#parts.hasTls).some((grant) => this.#grants.opens(grant, target))
  }

  /** Pages of other origins may not act here; those of the same workspace's other ports on this server may. */
  #checkOrigin(request: IncomingMessage, { way, target }: Place, hasEffect: boolean): void {
    if (way.is === 'host' && this.#isSibling(request, target)) return
    checkOrigin(request, hasEffect)
  }

  #isSibling({ headers }: IncomingMessage, target: PortTarget): boolean {
    const { origin, host } = headers
    if (origin === undefined || !URL.canParse(origin)) return false
    const { host: from } = new URL(origin)
    const workspace = this.#parts.hosts.parse(from)?.workspace
    return workspace === target.workspace.toLowerCase() && belowLabel(from) === belowLabel(host ?? '')
  }

  /** Takes a pass and redirects to the same address without it, so that it is in no history and in no Referer. */
  #enter(response: ServerResponse, target: PortTarget, pass: string, path: string): void {
    const { token, face, hasTls } = this.#parts
    const cookies: string[] = []
    if (token !== undefined) {
      face.tickets.redeem(pass, target.workspace, { for: 'port', port: target.port })
      cookies.push(grantCookie(this.#grants.issue(target), GRANT_MS / 1_000, hasTls))
    }
    response
      .writeHead(302, {
        // Two slashes would name another host.
        location: path.replace(/^[/\\]*/, '/'),
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
        'set-cookie': cookies,
      })
      .end()
  }

  #refuse(request: IncomingMessage, response: ServerResponse, error: unknown): void {
    if (response.headersSent || response.destroyed) return void response.destroy()
    if (!isFault(error)) this.#parts.logger.error({ err: error }, 'a request to a port failed')
    const told = isFault(error)
      ? error
      : httpFault('INTERNAL_ERROR', 'something went wrong here; the server log says what')
    const isForPerson = wantsPage(request)
    const body = isForPerson ? portNotice(told) : JSON.stringify(errorToWire(told))
    response.writeHead(STATUS_OF_KIND[told.kind], {
      ...NOTICE_HEADERS,
      'content-type': isForPerson ? 'text/html; charset=utf-8' : 'application/json',
      'content-length': Buffer.byteLength(body),
      ...(told.kind === 'unauthorized' && { 'www-authenticate': 'Bearer' }),
      ...(mustClose(request) ? { connection: 'close' } : {}),
    })
    response.end(request.method === 'HEAD' ? undefined : body)
  }
}

/** A port of a workspace, as an address below the API's path names it. */
interface Place {
  readonly target: PortTarget
  readonly way: PortWay
  /** As the workspace is asked for it. */
  readonly path: string
  readonly pass: string | undefined
}

function placeBelowPath(url: string): Place {
  const [, prefix, name, portText, rest] = PORT_PATH.exec(url) ?? []
  if (prefix === undefined || portText === undefined || rest === undefined)
    throw fault('INVALID_REQUEST', 'a port of a workspace is at /api/workspaces/{name}/proxy/{port}/')
  const port = parsePort(portText)
  const target = { workspace: parseWorkspaceName(name), port }
  return { target, way: { is: 'path', prefix, port }, ...withoutPass(rest) }
}

/** Returns a host without its first label, in lower case, with its port. */
function belowLabel(host: string): string {
  return host.toLowerCase().slice(host.indexOf('.'))
}

function connectFailed({ is, message, cause }: UpstreamFailure, timeoutMs: number): Fault {
  const why = {
    silent: `the port gave no answer within ${timeoutMs / 1_000} s`,
    broken: `the port gave no answer: ${message}`,
    invalid: `the port gave an answer that cannot be passed on: ${message}`,
  }[is]
  return fault('CONNECT_FAILED', why, cause)
}

/** Whether a person asked, who is told by a page. */
function wantsPage({ headers }: IncomingMessage): boolean {
  return /\btext\/html\b/.test(headers.accept ?? '')
}

/** What a person is told who asked for a page of a workspace. */
function portNotice({ code, message }: Fault): string {
  const title = code === 'CONNECT_FAILED' ? 'Nothing answers on this port' : 'This port cannot be shown'
  return renderNotice({ title, message: `${message.charAt(0).toUpperCase()}${message.slice(1)}.` })
}
