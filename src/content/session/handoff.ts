import { timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../lib/clock/clock.ts'
import { createSessionId, digestOf, isSessionId, type SessionStore } from './session-store.ts'
import type { Sessions } from './sessions.ts'

/** Maximum duration of the redirect. */
const TICKET_MS = 30_000

/**
 * Takes a login from the common host to the host of a repository: no cookie can be for both without being for all. The browser
 * keeps a secret for the repository's host; a ticket names that host and the secret's digest, works once, for 30 seconds, and on
 * every server that shares the sessions. So nobody can make another's browser enter with a ticket of their own.
 */
export class LoginHandoff {
  readonly #store: Pick<SessionStore, 'addTicket' | 'takeTicket'>
  readonly #sessions: Sessions
  readonly #clock: Clock

  constructor(store: Pick<SessionStore, 'addTicket' | 'takeTicket'>, sessions: Sessions, clock: Clock) {
    this.#store = store
    this.#sessions = sessions
    this.#clock = clock
  }

  /** A ticket for a session of the common host. @param state of the browser's secret, see `stateOf` */
  async issue(sessionId: string, repo: string, state: string): Promise<string> {
    const ticket = createSessionId()
    const expiresMs = this.#clock.wallMs() + TICKET_MS
    await this.#store.addTicket(digestOf(ticket), { parent: digestOf(sessionId), repo, state, expiresMs })
    return ticket
  }

  /** Spends a ticket, whatever comes of it; returns the id of a session of the repository's host, undefined where it is not right. */
  async redeem(ticket: string, repo: string, secret: string): Promise<string | undefined> {
    if (!isSessionId(ticket)) return undefined
    const found = await this.#store.takeTicket(digestOf(ticket))
    if (found === undefined || found.expiresMs <= this.#clock.wallMs() || found.repo !== repo)
      return undefined
    if (!timingSafeEqual(Buffer.from(found.state), Buffer.from(stateOf(secret)))) return undefined
    return this.#sessions.beginOn(repo, found.parent)
  }
}

/** Returns the digest of a browser's secret, which may appear in addresses. */
export function stateOf(secret: string): string {
  return digestOf(`hand-over:${secret}`)
}

/** Whether a text can be a state: then it is as long as every other. */
export function isState(text: string): boolean {
  return isSessionId(text)
}
