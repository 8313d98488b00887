import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { isFault, type Fault } from '../../../../lib/errors/fault.ts'
import { httpFault } from '../../../../lib/http/faults.ts'
import { forwardUpgrade } from '../../../../lib/http/forward-upgrade.ts'
import { type Forwarder, isLoop } from '../../../../lib/http/forwarded-headers.ts'
import { NOTICE_HEADERS, renderNotice } from '../../../../lib/http/notice-page.ts'
import { checkOrigin } from '../../../../lib/http/origin-rule.ts'
import { answerRaw } from '../../../../lib/http/raw-answer.ts'
import type { Diversion } from '../../../../lib/http/server.ts'
import { STATUS_OF_KIND } from '../../../../lib/http/status.ts'
import { createTokenTest } from '../../../../lib/http/token-rule.ts'
import type { UpgradeHandler } from '../../../../lib/http/upgrades.ts'
import type { Logger } from '../../../../lib/log/logger.ts'
import { errorToWire } from '../../../api/error.ts'
import { fault } from '../../../errors.ts'
import { parseWorkspaceName } from '../../../lifecycle/name.ts'
import { GRANT_MS, GrantTable } from '../../../passes/grant-table.ts'
import { openTunnel, parsePort } from '../../../tunnel/open-tunnel.ts'
import type { PortHosts, PortTarget } from '../../../tunnel/port-host.ts'
import { subjectOf } from '../audit-subject.ts'
import type { HttpFace } from '../face.ts'
import { forwardRequest } from './forward.ts'
import { withoutPass } from './pass-parameter.ts'
import { GRANT_COOKIE, grantOf, type PortWay, toBrowser, toGuest } from './port-headers.ts'

const UPGRADE_MS = 30_000

/** Below it is what the port serves. */
export const PORT_PATH = /^(\/api\/workspaces\/([^/]*)\/proxy\/([^/?]*))(\/.*)$/

interface PortDoorParts {
  readonly face: Pick<HttpFace, 'table' | 'backends' | 'activity' | 'passes' | 'config' | 'audit'>
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
    this.#grants = new GrantTable(() => new Date())
    this.#forwarder = { name: 'workspace', protocol: parts.hasTls ? 'https' : 'http' }
    this.#bearsToken = parts.token === undefined ? () => false : createTokenTest(parts.token)
  }

  /** Whether a request is for a port's host. Nothing of the API is there. */
  readonly isFor = (request: IncomingMessage): boolean => {
    return this.#parts.hosts.parse(request.headers.host) !== undefined
  }

  /** Answers a request for a port's host. */
  readonly answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const refuse = (refusal: unknown): void => this.#refuse(request, response, refusal)
    try {
      const target = this.#targetOf(request)
      checkOwnOrigin(request, target, this.#parts.hosts, false)
      const { pass, path } = withoutPass(request.url ?? '/')
      if (pass !== undefined)
        return this.#recording(request, target, () => this.#enter(response, target, pass, path))
      this.#demandGrant(request, target)
      await this.#forward(request, response, target, { way: { is: 'host' }, path, refuse })
    } catch (error) {
      refuse(error)
    }
  }

  /** Answers a request below a port's path. */
  async answerBelowPath(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refuse = (refusal: unknown): void => this.#refuse(request, response, refusal)
    try {
      const { target, way, path, pass } = placeOf(request)
      this.#admit(request, target, pass)
      await this.#forward(request, response, target, { way, path, refuse })
    } catch (error) {
      refuse(error)
    }
  }

  readonly endAnswers = (): void => {
    for (const answer of this.#answers) answer.destroy()
  }

  /** Hands on a connection that leaves HTTP below a port's path. */
  async upgradeBelowPath(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const { target, way, path, pass } = placeOf(request)
    this.#admit(request, target, pass)
    await this.#forwardUpgrade(request, socket, head, target, { way, path })
  }

  /** Hands on a connection that leaves HTTP at a port's host. */
  readonly upgrade: UpgradeHandler = async (request, socket, head) => {
    const target = this.#targetOf(request)
    checkOwnOrigin(request, target, this.#parts.hosts, true)
    this.#demandGrant(request, target)
    await this.#forwardUpgrade(request, socket, head, target, {
      way: { is: 'host' },
      path: request.url ?? '/',
    })
  }

  /** Throws as `openTunnel`. */
  async #forward(
    request: IncomingMessage,
    response: ServerResponse,
    target: PortTarget,
    {
      way,
      path,
      refuse,
    }: { readonly way: PortWay; readonly path: string; readonly refuse: (why: Fault) => void },
  ): Promise<void> {
    const connection = await this.#open(request, target)
    if (response.destroyed) return void connection.destroy()
    this.#answers.add(response)
    response.once('close', () => this.#answers.delete(response))
    response.once('close', this.#parts.face.activity.begin(target.workspace))
    forwardRequest({
      request,
      response,
      connection,
      path,
      refuse,
      headers: this.#headersFor(request, way),
      toBrowser: (answer) => toBrowser(answer, way),
    })
  }

  async #forwardUpgrade(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    target: PortTarget,
    { way, path }: { readonly way: PortWay; readonly path: string },
  ): Promise<void> {
    const connection = await this.#open(request, target)
    if (socket.destroyed) return void connection.destroy()
    socket.once('close', this.#parts.face.activity.begin(target.workspace))
    forwardUpgrade({
      request,
      socket,
      head,
      upstream: { path, createConnection: () => connection },
      headers: this.#headersFor(request, way),
      toClient: (answer) => toBrowser(answer, way),
      timeoutMs: UPGRADE_MS,
      report: () => undefined,
      refuse: ({ message }) => {
        const refusal = fault('CONNECT_FAILED', `the port gave no answer: ${message}`)
        answerRaw(socket, STATUS_OF_KIND[refusal.kind], errorToWire(refusal))
      },
    })
  }

  /** Takes a pass that came with a path, or the token. Throws UNAUTHORIZED. */
  #admit(request: IncomingMessage, target: PortTarget, pass: string | undefined): void {
    if (this.#parts.token === undefined || this.#bearsToken(request)) return
    this.#recording(request, target, () =>
      this.#parts.face.passes.take(pass, target.workspace, { for: 'port', port: target.port }),
    )
  }

  /** Records a refusal for want of token, pass or grant. */
  #recording<T>(request: IncomingMessage, target: PortTarget, admit: () => T): T {
    const subject = subjectOf({ raw: request }, 'port.enter', target.workspace)
    return this.#parts.face.audit.admission(subject, admit)
  }

  #headersFor(request: IncomingMessage, way: PortWay) {
    return toGuest(request, way, { forwarder: this.#forwarder, bearsToken: this.#bearsToken(request) })
  }

  async #open(request: IncomingMessage, { workspace, port }: PortTarget): Promise<Duplex> {
    if (isLoop(request, this.#forwarder.name))
      throw fault('INVALID_REQUEST', 'this request has come through this server before')
    const { table, backends, config, audit } = this.#parts.face
    const connection = await openTunnel(table, backends, workspace, String(port), config.tunnel.denyPorts)
    audit.enter(subjectOf({ raw: request }, 'port.enter', workspace), `${workspace} ${port}`)
    return connection
  }

  #targetOf({ headers }: IncomingMessage): PortTarget {
    const target = this.#parts.hosts.parse(headers.host)
    if (target === undefined) throw new Error('the request is for no port')
    const workspace = this.#parts.face.table.find(target.workspace)
    return workspace === undefined ? target : { ...target, workspace: workspace.name }
  }

  #demandGrant(request: IncomingMessage, target: PortTarget): void {
    if (this.#parts.token === undefined || this.#grants.opens(grantOf(request), target)) return
    this.#recording(request, target, () => {
      throw httpFault(
        'UNAUTHORIZED',
        `open port ${target.port} of workspace "${target.workspace}" from the server's page, which has the token`,
      )
    })
  }

  /** Takes a pass and leads to the same address without it, so that it is in no history and in no Referer. */
  #enter(response: ServerResponse, target: PortTarget, pass: string, path: string): void {
    const { token, face, hasTls } = this.#parts
    const cookies: string[] = []
    if (token !== undefined) {
      face.passes.take(pass, target.workspace, { for: 'port', port: target.port })
      const cookie = `${GRANT_COOKIE}=${this.#grants.issue(target)}; Path=/; Max-Age=${GRANT_MS / 1_000}; HttpOnly; SameSite=Lax`
      cookies.push(hasTls ? `${cookie}; Secure` : cookie)
    }
    response
      .writeHead(302, {
        // Two slashes would lead to another host.
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
      // Of a body that nobody reads.
      ...(request.complete ? {} : { connection: 'close' }),
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

/** Taken from the address as it was written: what is encoded in the workspace's part of it stays encoded. */
function placeOf({ url = '' }: IncomingMessage): Place {
  const [, prefix, name, portText, rest] = PORT_PATH.exec(url) ?? []
  if (prefix === undefined || portText === undefined || rest === undefined)
    throw fault('INVALID_REQUEST', 'a port of a workspace is at /api/workspaces/{name}/proxy/{port}/')
  const port = parsePort(portText)
  const { pass, path } = withoutPass(rest)
  const target = { workspace: parseWorkspaceName(name), port }
  return { target, way: { is: 'path', prefix, port }, path, pass }
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

/** Pages of other origins may not act here; those of the same workspace's other ports may. */
function checkOwnOrigin(
  request: IncomingMessage,
  target: PortTarget,
  hosts: PortHosts,
  hasEffect: boolean,
): void {
  const { origin } = request.headers
  const from = origin !== undefined && URL.canParse(origin) ? hosts.parse(new URL(origin).host) : undefined
  if (from?.workspace === target.workspace.toLowerCase()) return
  checkOrigin(request, hasEffect)
}
