import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { onRequestHookHandler } from 'fastify'
import { isFault } from '../../../../lib/errors/fault.ts'
import {
  bearerOf,
  createTokenRule,
  createTokenTest,
  type Secret,
  tokenFault,
  type TokenTest,
} from '../../../../lib/http/token-rule.ts'
import { BUS_TOKEN_HEADER } from '../../../client/server-address.ts'
import { isWorkspaceName } from '../../../name.ts'
import { type AccessControl, type Principal, SERVER } from '../../../team/access-control.ts'
import type { AccessLevel } from '../../../access-level.ts'
import type { OpenUses } from '../../../team/open-uses.ts'
import { SELF } from '../../../team/user.ts'
import { rightOf } from './route-rights.ts'

const principals = new WeakMap<IncomingMessage, { readonly principal: Principal; readonly user: string }>()

/** Returns the name of the user who sent a request; undefined on a server without users, and for the server's token. */
export function userNameOf(request: IncomingMessage): string | undefined {
  return principals.get(request)?.user || undefined
}

/** Finds out who sends a request, and whether they may. */
export class Gate {
  readonly #access: AccessControl
  readonly #uses: OpenUses
  readonly #onRefused: (request: IncomingMessage, workspace: string, code: string) => void
  readonly #serverToken: Secret | undefined
  readonly #busToken: Secret | undefined
  readonly #requireBusToken: ((request: IncomingMessage) => void) | undefined
  readonly #isServerToken: TokenTest | undefined
  /** Whether requests must identify their sender. */
  readonly requiresToken: boolean

  /**
   * @param token the server's token; undefined if it requires none
   * @param busToken that listeners of the bus must send as well; undefined if they need none
   * @param hasUsers whether personal tokens exist as well
   * @param onRefused called for each request of a user who may not make it
   */
  constructor(
    access: AccessControl,
    uses: OpenUses,
    {
      token,
      busToken,
      hasUsers,
    }: {
      readonly token: Secret | undefined
      readonly busToken: Secret | undefined
      readonly hasUsers: boolean
    },
    onRefused: (request: IncomingMessage, workspace: string, code: string) => void,
  ) {
    this.#access = access
    this.#uses = uses
    this.#onRefused = onRefused
    this.requiresToken = token !== undefined || hasUsers
    this.#serverToken = token
    this.#busToken = busToken
    if (busToken !== undefined) this.#requireBusToken = createTokenRule(busToken, BUS_TOKEN_HEADER)
    if (token !== undefined) this.#isServerToken = createTokenTest(token)
  }

  /** Whether a request has a valid token; true if none is required. */
  readonly hasToken = (request: IncomingMessage): boolean =>
    !this.requiresToken || this.identify(request) !== undefined

  /** Returns who sends a request; undefined without a valid token. */
  identify(request: IncomingMessage): Principal | undefined {
    const known = principals.get(request)
    if (known !== undefined) return known.principal
    const principal = this.#identify(request)
    if (principal === undefined) return undefined
    principals.set(request, { principal, user: this.#access.userOf(principal)?.name ?? '' })
    return principal
  }

  /** Returns who sends a request. @throws UNAUTHORIZED without a valid token */
  principalOf(request: IncomingMessage): Principal {
    if (!this.requiresToken) return SERVER
    const principal = this.identify(request)
    if (principal !== undefined) return principal
    throw tokenFault(request)
  }

  /** Requires a level for a workspace. @throws UNAUTHORIZED, WORKSPACE_NOT_FOUND and ACCESS_DENIED */
  require(request: IncomingMessage, workspace: string, level: AccessLevel): void {
    this.#access.require(this.principalOf(request), workspace, level)
  }

  /** Refuses requests that their senders may not make, before their bodies are read. */
  readonly admit: onRequestHookHandler = (request, reply, done) => {
    const { config, url: route } = request.routeOptions
    // Paths without a route, and routes that decide for themselves.
    if (route === undefined || config.needsNoToken === true) return done()
    const principal = this.principalOf(request.raw)
    // The holder of the server's token may do everything, as long as it is the token.
    if (principal.is === 'server') {
      this.followServerToken(reply.raw)
      return done()
    }
    const { name = '', user = '' } = request.params as Readonly<Record<string, string | undefined>>
    const right = rightOf(request.method, route)
    try {
      this.#authorize(principal, right, { name, user })
      this.#follow(this.#hasRight(principal, right, name), reply.raw)
    } catch (error) {
      if (isFault(error)) this.#onRefused(request.raw, name, error.code)
      throw error
    }
    done()
  }

  /** Refuses requests without the bus's token, and cuts their streams when it is replaced. */
  readonly admitListener: onRequestHookHandler = (request, reply, done) => {
    this.#requireBusToken?.(request.raw)
    this.#followSecret(this.#busToken, reply.raw)
    done()
  }

  #authorize(
    principal: Principal,
    right: ReturnType<typeof rightOf>,
    { name, user }: { readonly name: string; readonly user: string },
  ): void {
    switch (right) {
      case 'user':
        return
      case 'administrator':
        return this.#access.requireAdministrator(principal)
      case 'self':
        return this.#requireSelf(principal, user)
      case 'read':
      case 'use':
      case 'manage':
        // An invalid name is refused by its route, for everybody alike.
        if (isWorkspaceName(name)) this.#access.require(principal, name, right)
    }
  }

  /** Follows a connection into a workspace, and closes it when its user may no longer run programs there. */
  follow(principal: Principal, workspace: string, connection: Duplex | ServerResponse): void {
    const isAllowed =
      principal.is === 'server'
        ? holds(this.#serverToken)
        : () => this.#access.hasLevel(principal, workspace, 'use')
    if (isAllowed === undefined) return
    connection.once(
      'close',
      this.#uses.follow(isAllowed, () => connection.destroy()),
    )
  }

  /** Follows a response to a holder of the server's token, and cuts it if it is a stream when the token is replaced. */
  followServerToken(response: ServerResponse): void {
    this.#followSecret(this.#serverToken, response)
  }

  #followSecret(secret: Secret | undefined, response: ServerResponse): void {
    const isAllowed = holds(secret)
    if (isAllowed !== undefined) this.#follow(isAllowed, response)
  }

  /** Follows a response, and cuts it if it is a stream when its user may no longer have it. */
  #follow(isAllowed: () => boolean, response: ServerResponse): void {
    response.once(
      'close',
      // Another response is complete as soon as it begins, also that to a request which ended its own access.
      this.#uses.follow(isAllowed, () => {
        if (response.headersSent && !response.writableEnded) response.destroy()
      }),
    )
  }

  #hasRight(principal: Principal, right: ReturnType<typeof rightOf>, workspace: string): () => boolean {
    return () => {
      if (right === 'user' || right === 'self') return this.#access.isCurrent(principal)
      if (right === 'administrator') return this.#access.isAdministrator(principal)
      return this.#access.hasLevel(principal, workspace, right)
    }
  }

  #requireSelf(principal: Principal, name: string): void {
    const user = this.#access.userOf(principal)
    const isSelf = user !== undefined && (name === SELF || name === user.name)
    // A limited token must not get an unlimited one.
    if (isSelf && this.#access.isUnlimited(principal)) return
    this.#access.requireAdministrator(principal)
  }

  #identify(request: IncomingMessage): Principal | undefined {
    if (this.#isServerToken?.(request) === true) return SERVER
    const secret = bearerOf(request.headers.authorization)
    return secret === undefined ? undefined : this.#access.identify(secret)
  }
}

/** Returns a function that returns whether a secret is still the one of now; undefined if there is none. */
function holds(secret: Secret | undefined): (() => boolean) | undefined {
  if (secret === undefined) return undefined
  const { text } = secret
  return () => secret.text === text
}
