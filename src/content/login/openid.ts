import * as client from 'openid-client'
import { messageOf } from '../../lib/errors/message.ts'
import { parseGroups } from '../../lib/openid/groups.ts'
import { type Claims, claimsOf, OpenIdProvider } from '../../lib/openid/provider.ts'
import type { Settings } from '../config-schema.ts'
import { fault } from '../errors.ts'
import type { Flow } from './flow.ts'
import type { Login } from '../session/sessions.ts'

type OpenIdConfig = NonNullable<Settings['oidc']>

/** Needs of the access rules. */
interface Rules {
  /** Whether a rule names users or domains of addresses. */
  readonly namesReaders: boolean
  namesGroup(group: string): boolean
}

/** Login with an OpenID provider: the authorization code flow with PKCE. */
export class OpenIdLogin {
  readonly #config: OpenIdConfig
  readonly #rules: Rules
  readonly #provider: OpenIdProvider

  constructor(config: OpenIdConfig, rules: Rules) {
    this.#config = config
    this.#rules = rules
    this.#provider = new OpenIdProvider(config, (message, cause) =>
      fault('PROVIDER_UNAVAILABLE', message, cause),
    )
  }

  get label(): string {
    return this.#config.label
  }

  /** Proof that this provider's sessions are bound to. */
  get proof(): string {
    return `oidc:${this.#config.issuer} ${this.#config.clientId}`
  }

  /**
   * Returns the provider's URL and the state that the browser keeps.
   *
   * @throws PROVIDER_UNAVAILABLE when the provider does not respond
   */
  async begin(redirectUri: string, next: string): Promise<{ readonly url: string; readonly flow: Flow }> {
    const provider = await this.#provider.connect()
    const flow: Flow = {
      state: client.randomState(),
      nonce: client.randomNonce(),
      verifier: client.randomPKCECodeVerifier(),
      next,
    }
    const url = client.buildAuthorizationUrl(provider, {
      redirect_uri: redirectUri,
      scope: this.#config.scope,
      state: flow.state,
      nonce: flow.nonce,
      code_challenge: await client.calculatePKCECodeChallenge(flow.verifier),
      code_challenge_method: 'S256',
    })
    return { url: url.href, flow }
  }

  /**
   * Returns the login of the user whom the provider sent back.
   *
   * @throws LOGIN_REFUSED or PROVIDER_UNAVAILABLE when the login fails
   */
  async finish(currentUrl: URL, { state, nonce, verifier }: Flow): Promise<Login> {
    const provider = await this.#provider.connect()
    let claims: Claims
    try {
      const tokens = await client.authorizationCodeGrant(provider, currentUrl, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      })
      const { groupsClaim } = this.#config
      const wanted = groupsClaim === undefined ? ['email'] : ['email', groupsClaim]
      claims = await claimsOf(provider, tokens, wanted, this.#needsVerified ? ['email_verified'] : [])
    } catch (error) {
      throw this.#refused(messageOf(error), error)
    }
    return this.#admit(claims)
  }

  /** Whether it matters that an address is verified. */
  get #needsVerified(): boolean {
    const { allowedEmails, allowedDomains } = this.#config
    return allowedEmails.length > 0 || allowedDomains.length > 0 || this.#rules.namesReaders
  }

  #admit(claims: Claims): Login {
    const { allowedEmails: emails, allowedDomains: domains, groupsClaim } = this.#config
    const email =
      typeof claims['email'] === 'string' && claims['email'] !== ''
        ? claims['email'].toLowerCase()
        : undefined
    const isVerified = email !== undefined && isTrue(claims['email_verified'])
    const login = {
      user: email ?? String(claims['sub']),
      proof: this.proof,
      isVerified,
      groups:
        groupsClaim === undefined
          ? []
          : parseGroups(claims[groupsClaim], (group) => this.#rules.namesGroup(group)),
    }
    if (emails.length === 0 && domains.length === 0) return login
    if (email === undefined)
      throw this.#refused('it reports no email address for this account (claim "email")')
    const domain = email.slice(email.lastIndexOf('@') + 1)
    if (!lower(emails).includes(email) && !lower(domains).includes(domain))
      throw fault('LOGIN_REFUSED', `${email} is not allowed to log in; ask the administrator of this site`)
    if (isVerified) return login
    const found =
      'email_verified' in claims ? JSON.stringify(claims['email_verified']).slice(0, 50) : 'missing'
    throw this.#refused(
      `it does not confirm the email address ${email} (claim "email_verified" is ${found}); verify the address there, and log in again`,
    )
  }

  #refused(why: string, cause?: unknown): Error {
    return fault('LOGIN_REFUSED', `login with ${this.label} failed: ${why}`, cause)
  }
}

/** Some providers, such as Amazon Cognito, report truth values as text. */
function isTrue(claim: unknown): boolean {
  return claim === true || claim === 'true'
}

function lower(words: readonly string[]): readonly string[] {
  return words.map((word) => word.toLowerCase())
}
