import { timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../lib/clock/clock.ts'
import { digestOf } from '../../lib/http/secret-form.ts'
import { createSessionId, isSessionId, type SessionStore } from './session-store.ts'
import type { Sessions } from './sessions.ts'

/** Maximum duration of the redirects. */
const TICKET_MS = 30_000

/**
 * Passes a login from the common host to a repository's host, as no cookie can be valid for exactly these two. The
 * browser keeps a secret for the repository's host. A ticket contains that host and the secret's digest, and works
 * once, for 30 seconds, on every server that shares the sessions. So nobody can log another browser in with their own
 * ticket.
 */
export class LoginHandoff {
  readonly #store: Pick<SessionStore, 'addTicket' | 'consumeTicket'>
  readonly #sessions: Sessions
  readonly #clock: Clock

  constructor(store: Pick<SessionStore, 'addTicket' | 'consumeTicket'>, sessions: Sessions, clock: Clock) {
    this.#store = store
    this.#sessions = sessions
    this.#clock = clock
  }

  /** Issues a ticket for a session of the common host. @param state of the browser's secret, see `stateOf` */
  async issue(sessionId: string, repo: string, state: string): Promise<string> {
    const ticket = createSessionId()
    const expiresMs = this.#clock.wallMs() + TICKET_MS
    await this.#store.addTicket(digestOf(ticket), { parent: digestOf(sessionId), repo, state, expiresMs })
    return ticket
  }

  /** Consumes a ticket even if it is invalid; returns the id of a session on the repository's host, or undefined. */
  async redeem(ticket: string, repo: string, secret: string): Promise<string | undefined> {
    if (!isSessionId(ticket)) return undefined
    const found = await this.#store.consumeTicket(digestOf(ticket))
    if (found === undefined || found.expiresMs <= this.#clock.wallMs() || found.repo !== repo)
      return undefined
    if (!timingSafeEqual(Buffer.from(found.state), Buffer.from(stateOf(secret)))) return undefined
    return this.#sessions.beginOn(repo, found.parent)
  }
}

/** Returns the digest of a browser's secret, which may appear in URLs. */
export function stateOf(secret: string): string {
  return digestOf(`hand-over:${secret}`)
}

/** Whether a text has the form of a state. */
export function isState(text: string): boolean {
  return isSessionId(text)
}
