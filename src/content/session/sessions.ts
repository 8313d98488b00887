import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../../lib/clock/clock.ts'
import { createSessionId, digestOf, isSessionId, type Session, type SessionStore } from './session-store.ts'

/** How long the end of a session elsewhere may take to be seen here; each request would ask the store otherwise. */
const TRUST_MS = 1_000
const KEPT = 10_000

/** The logins that count now. What ends here ends at once; what another process or host ends, within a second. */
export class Sessions {
  readonly #store: SessionStore
  readonly #clock: Clock
  readonly #maxAgeMs: number
  readonly #seen = new LRUCache<string, { readonly session: Session; readonly readMs: number }>({ max: KEPT })
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

  /** Begins the session of a repository's own host, for as long as the one of the common host lasts; undefined without that. */
  async beginOn(repo: string, parent: string): Promise<string | undefined> {
    const session = this.#valid(await this.#store.find(parent))
    if (session === undefined || session.of !== undefined) return undefined
    const id = createSessionId()
    await this.#store.add(digestOf(id), { ...session, of: { repo, parent } })
    return id
  }

  /** The session of an id on a repository's host, else on the common host. @throws SESSIONS_UNAVAILABLE */
  find(id: string | undefined, repo?: string): Session | undefined | Promise<Session | undefined> {
    if (id === undefined) return undefined
    const found = this.#find(id)
    return found instanceof Promise
      ? found.then((session) => (session?.of?.repo === repo ? session : undefined))
      : found?.of?.repo === repo
        ? found
        : undefined
  }

  async end(id: string): Promise<void> {
    if (!isSessionId(id)) return
    const digest = digestOf(id)
    const forget = (): void => {
      this.#seen.delete(id)
      for (const [other, { session }] of this.#seen.entries())
        if (session.of?.parent === digest) this.#seen.delete(other)
    }
    forget()
    await this.#store.remove(digest)
    // A request may have looked meanwhile.
    forget()
  }

  #find(id: string): Session | undefined | Promise<Session | undefined> {
    const seen = this.#seen.get(id)
    if (seen !== undefined && this.#clock.nowMs() - seen.readMs < TRUST_MS) return this.#valid(seen.session)
    if (!isSessionId(id)) return undefined
    const found = this.#store.find(digestOf(id))
    return found instanceof Promise
      ? found.then((session) => this.#withParent(id, session))
      : this.#withParent(id, found)
  }

  #withParent(id: string, session: Session | undefined): Session | undefined | Promise<Session | undefined> {
    if (session?.of === undefined) return this.#keep(id, session)
    const parent = this.#store.find(session.of.parent)
    return parent instanceof Promise
      ? parent.then((found) => this.#keep(id, session, found))
      : this.#keep(id, session, parent)
  }

  #keep(id: string, found: Session | undefined, parent?: Session): Session | undefined {
    const session = found?.of !== undefined && parent === undefined ? undefined : found
    if (session === undefined) this.#seen.delete(id)
    else this.#seen.set(id, { session, readMs: this.#clock.nowMs() })
    return this.#valid(session)
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
