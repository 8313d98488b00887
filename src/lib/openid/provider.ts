import * as client from 'openid-client'
import type { Fault } from '../errors/fault.ts'
import { messageOf } from '../errors/message.ts'

const ANSWER_S = 10

/** How a program is registered at an OpenID provider. */
export interface Registration {
  readonly issuer: string
  readonly clientId: string
  /** Undefined for a public client. */
  readonly clientSecret?: string | undefined
}

/** Facts about a user, as the provider reports them. */
export type Claims = Readonly<Record<string, unknown>>

/** An OpenID provider, which is discovered at the first login. */
export class OpenIdProvider {
  readonly #registration: Registration
  readonly #unavailable: (message: string, cause: unknown) => Fault
  #configuration: Promise<client.Configuration> | undefined

  /** @param unavailable creates the error for a provider that does not respond */
  constructor(registration: Registration, unavailable: (message: string, cause: unknown) => Fault) {
    this.#registration = registration
    this.#unavailable = unavailable
  }

  /** Returns the provider's addresses and the client's registration. @throws the error for an unavailable provider */
  connect(): Promise<client.Configuration> {
    // A failed discovery is retried by the next login.
    this.#configuration ??= this.#discover().catch((error: unknown) => {
      this.#configuration = undefined
      const { issuer } = this.#registration
      throw this.#unavailable(`the login provider ${issuer} does not respond: ${messageOf(error)}`, error)
    })
    return this.#configuration
  }

  #discover(): Promise<client.Configuration> {
    const { issuer, clientId: id, clientSecret: secret } = this.#registration
    const url = new URL(issuer)
    return client.discovery(url, id, secret, secret === undefined ? client.None() : undefined, {
      timeout: ANSWER_S,
      // A provider over http is on this machine or in a closed network, as configured.
      execute: url.protocol === 'http:' ? [client.allowInsecureRequests] : [],
    })
  }
}

/**
 * Returns the claims of a login. Many providers report addresses and groups only at the user-info endpoint, which is
 * asked when one of the claims is missing, if there is one.
 *
 * @param wanted claims without which the login cannot continue if the endpoint fails
 * @param optional further claims, which are left out then
 */
export async function claimsOf(
  provider: client.Configuration,
  tokens: client.TokenEndpointResponse & client.TokenEndpointResponseHelpers,
  wanted: readonly string[],
  optional: readonly string[] = [],
): Promise<Claims> {
  const given: Claims = tokens.claims() ?? {}
  const subject = given['sub']
  const isGiven = (name: string): boolean => name in given
  if ([...wanted, ...optional].every(isGiven) || typeof subject !== 'string') return given
  if (provider.serverMetadata().userinfo_endpoint === undefined) return given
  try {
    return { ...given, ...(await client.fetchUserInfo(provider, tokens.access_token, subject)) }
  } catch (error) {
    if (!wanted.every(isGiven)) throw error
    // The caller decides without the optional claims, and names those that it needs.
    return given
  }
}
