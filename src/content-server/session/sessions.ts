import { createHash } from 'node:crypto'
import type { Clock } from '../clock.ts'
import { createSessionId, digestOf, isSessionId, type Session, type SessionStore } from './session-store.ts'

/** The logins that count now. */
export class Sessions {
  readonly #store: SessionStore
  readonly #clock: Clock
  readonly #maxAgeMs: number
  readonly #isValidProof: (session: Session) => boolean

  /** @param isValidProof whether what a login was proven with still is what it was */
  constructor(
    store: SessionStore,
    clock: Clock,
    maxAgeMs: number,
    isValidProof: (session: Session) => boolean,
  ) {
    this.#store = store
    this.#clock = clock
    this.#maxAgeMs = maxAgeMs
    this.#isValidProof = isValidProof
  }

  /** Begins a session under an id that nobody had before (threat O2), and returns that. */
  async begin(user: string, proof: string): Promise<string> {
    const id = createSessionId()
    await this.#store.add(digestOf(id), { user, proof, expiresMs: this.#clock.wallMs() + this.#maxAgeMs })
    return id
  }

  /** The session of an id. Throws SESSIONS_UNAVAILABLE. */
  find(id: string | undefined): Session | undefined | Promise<Session | undefined> {
    if (id === undefined || !isSessionId(id)) return undefined
    const found = this.#store.find(digestOf(id))
    return found instanceof Promise ? found.then((session) => this.#valid(session)) : this.#valid(found)
  }

  async end(id: string): Promise<void> {
    if (isSessionId(id)) await this.#store.remove(digestOf(id))
  }

  #valid(session: Session | undefined): Session | undefined {
    const counts =
      session !== undefined && session.expiresMs > this.#clock.wallMs() && this.#isValidProof(session)
    return counts ? session : undefined
  }
}

/** What a form of a session holds, so that only its own pages can send it. */
export function formTokenOf(id: string): string {
  return createHash('sha256').update(`form:${id}`).digest('base64url')
}
