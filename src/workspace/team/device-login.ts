import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import * as client from 'openid-client'
import type { Clock } from '../../lib/clock/clock.ts'
import { isFault } from '../../lib/errors/fault.ts'
import { ignore } from '../../lib/errors/ignore.ts'
import { messageOf } from '../../lib/errors/message.ts'
import { parseGroups } from '../../lib/openid/groups.ts'
import { type Claims, claimsOf, OpenIdProvider } from '../../lib/openid/provider.ts'
import { unlessAborted } from '../../lib/process/unless-aborted.ts'
import { fault } from '../errors.ts'
import type { TeamSettings } from './settings.ts'
import type { Team } from './team.ts'
import type { PersonalToken, User } from './user.ts'

/** Logins in progress, of all clients and of one address: each asks the provider every few seconds. */
const MAX_LOGINS = 200
const MAX_LOGINS_OF_ADDRESS = 20
const DEFAULT_LIFETIME_S = 600

type OidcSettings = NonNullable<TeamSettings['oidc']>

/** Instructions for a user who logs in: an address to open in any browser, and a code to enter. */
export interface DevicePrompt {
  /** Identifies the login; the client that has it gets the token. */
  readonly id: string
  readonly userCode: string
  readonly url: string
  /** The address with the code; undefined if the provider has none. */
  readonly completeUrl: string | undefined
  readonly expiresAt: Date
}

/** A completed login. */
export interface CompletedLogin {
  readonly user: User
  readonly token: PersonalToken
  readonly secret: string
}

type Prompt = Awaited<ReturnType<typeof client.initiateDeviceAuthorization>>

interface PendingLogin {
  readonly address: string
  readonly expiresMs: number
  readonly result: Promise<CompletedLogin>
  readonly controller: AbortController
}

/** Logs in with an OpenID provider by the device flow (RFC 8628), which needs no browser on the user's machine. */
export class DeviceLogin {
  readonly #settings: OidcSettings
  readonly #lifetimeS: number
  readonly #team: Team
  readonly #clock: Clock
  readonly #provider: OpenIdProvider
  readonly #pending = new Map<string, PendingLogin>()

  /**
   * Reads the client's secret, if it has one.
   *
   * @param lifetimeMs how long the tokens are valid
   * @throws CONFIG_UNREADABLE when the secret cannot be read
   */
  static async open(
    settings: OidcSettings,
    lifetimeMs: number,
    { team, clock }: { readonly team: Team; readonly clock: Clock },
  ): Promise<DeviceLogin> {
    const { clientSecretFile: file } = settings
    const clientSecret = file === undefined ? undefined : (await readFile(file, 'utf8')).trim()
    return new DeviceLogin(settings, clientSecret, Math.ceil(lifetimeMs / 1_000), team, clock)
  }

  private constructor(
    settings: OidcSettings,
    clientSecret: string | undefined,
    lifetimeS: number,
    team: Team,
    clock: Clock,
  ) {
    this.#settings = settings
    this.#lifetimeS = lifetimeS
    this.#team = team
    this.#clock = clock
    this.#provider = new OpenIdProvider({ ...settings, clientSecret }, unavailable)
  }

  /**
   * Begins a login.
   *
   * @param address of the client
   * @throws LOGIN_UNAVAILABLE when the provider does not respond, or does not support the device flow
   * @throws TOO_MANY_LOGINS when too many have begun
   */
  async begin(address: string): Promise<DevicePrompt> {
    this.#removeExpired()
    const ofAddress = [...this.#pending.values()].filter((login) => login.address === address)
    if (this.#pending.size >= MAX_LOGINS || ofAddress.length >= MAX_LOGINS_OF_ADDRESS)
      throw fault('TOO_MANY_LOGINS', 'too many logins are in progress; complete one, or try again in minutes')
    const id = randomBytes(32).toString('base64url')
    const controller = new AbortController()
    const lifetimeMs = (seconds: number): number => this.#clock.wallMs() + 1_000 * seconds
    const begun = this.#ask()
    const result = begun.then(({ provider, prompt }) => this.#finish(provider, prompt, controller.signal))
    result.catch(ignore('the request that waits for it reports it'))
    // Counted from now on, also while the provider is asked.
    const login = { address, expiresMs: lifetimeMs(DEFAULT_LIFETIME_S), result, controller }
    this.#pending.set(id, login)
    const { prompt } = await begun.catch((error: unknown) => {
      this.#pending.delete(id)
      throw error
    })
    const expiresMs = lifetimeMs(prompt.expires_in || DEFAULT_LIFETIME_S)
    if (this.#pending.has(id)) this.#pending.set(id, { ...login, expiresMs })
    return {
      id,
      userCode: prompt.user_code,
      url: prompt.verification_uri,
      completeUrl: prompt.verification_uri_complete,
      expiresAt: new Date(expiresMs),
    }
  }

  /**
   * Waits for a login, at most as long as `signal` allows; undefined if it is not complete by then. A completed login is
   * returned once.
   *
   * @throws LOGIN_NOT_FOUND when it expired or was returned, and LOGIN_REFUSED when it failed
   */
  async wait(id: string, signal: AbortSignal): Promise<CompletedLogin | undefined> {
    this.#removeExpired()
    const login = this.#pending.get(id)
    if (login === undefined)
      throw fault('LOGIN_NOT_FOUND', 'this login has expired or was completed; begin another one')
    try {
      const completed = await unlessAborted(login.result, signal)
      // Another request that waited for it may have got it.
      if (this.#pending.delete(id)) return completed
    } catch (error) {
      if (error === signal.reason) return undefined
      this.#pending.delete(id)
      throw error
    }
    throw fault('LOGIN_NOT_FOUND', 'this login was completed by another request')
  }

  /** Ends all logins in progress. */
  close(): void {
    for (const { controller } of this.#pending.values()) controller.abort()
    this.#pending.clear()
  }

  async #ask(): Promise<{ readonly provider: client.Configuration; readonly prompt: Prompt }> {
    const provider = await this.#provider.connect()
    const { scope } = this.#settings
    try {
      return { provider, prompt: await client.initiateDeviceAuthorization(provider, { scope }) }
    } catch (error) {
      throw unavailable(`the login provider does not support the device flow: ${messageOf(error)}`, error)
    }
  }

  async #finish(
    provider: client.Configuration,
    prompt: Prompt,
    signal: AbortSignal,
  ): Promise<CompletedLogin> {
    try {
      const tokens = await client.pollDeviceAuthorizationGrant(provider, prompt, {}, { signal })
      const { nameClaim, groupsClaim = nameClaim } = this.#settings
      const user = await this.#admit(await claimsOf(provider, tokens, [nameClaim, groupsClaim]))
      const request = { name: 'login', level: 'manage', expiresAfterS: this.#lifetimeS } as const
      return { user, ...(await this.#team.addToken(user.id, request)) }
    } catch (error) {
      if (isFault(error)) throw error
      throw fault('LOGIN_REFUSED', `the login failed: ${messageOf(error)}`, error)
    }
  }

  async #admit(claims: Claims): Promise<User> {
    const { issuer, nameClaim, groupsClaim, allowedGroups, administratorGroups } = this.#settings
    const { sub: subject } = claims
    if (typeof subject !== 'string')
      throw fault('LOGIN_REFUSED', 'the provider did not report who you are; add "openid" to team.oidc.scope')
    const named = new Set([...allowedGroups, ...administratorGroups])
    const groups =
      groupsClaim === undefined ? [] : parseGroups(claims[groupsClaim], (group) => named.has(group))
    const isIn = (wanted: readonly string[]): boolean => wanted.some((group) => groups.includes(group))
    const isAdministrator = isIn(administratorGroups)
    if (allowedGroups.length > 0 && !isAdministrator && !isIn(allowedGroups))
      throw fault('LOGIN_REFUSED', `your account is in none of the groups ${allowedGroups.join(', ')}`)
    const [name] = [claims[nameClaim], claims['email'], subject].filter(
      (claim) => typeof claim === 'string' && claim !== '',
    )
    return this.#team.logIn({
      identity: `${issuer} ${subject}`,
      name: String(name),
      groups,
      role: administratorGroups.length === 0 ? undefined : isAdministrator ? 'administrator' : 'member',
    })
  }

  #removeExpired(): void {
    const nowMs = this.#clock.wallMs()
    for (const [id, { expiresMs, controller }] of this.#pending) {
      if (expiresMs > nowMs) continue
      controller.abort()
      this.#pending.delete(id)
    }
  }
}

function unavailable(message: string, cause: unknown) {
  return fault('LOGIN_UNAVAILABLE', message, cause)
}
