import { LRUCache } from 'lru-cache'
import type { Clock } from '../../lib/clock/clock.ts'
import { digestOf } from '../../lib/http/secret-form.ts'
import { createSessionId, isSessionId, type Session, type SessionStore } from './session-store.ts'

/** How long a session is trusted without asking the store, and so how late its end elsewhere is noticed. */
export const TRUST_MS = 1_000
const KEPT = 10_000

/** A successful login. */
export type Login = Omit<Session, 'expiresMs' | 'of'>

/** Valid logins. A session that ends here ends immediately; one that another process ends, within a second. */
export class Sessions {
  readonly #store: SessionStore
  readonly #clock: Clock
  readonly #maxAgeMs: number
  readonly #seen = new LRUCache<string, { readonly session: Session; readonly readMs: number }>({ max: KEPT })
  readonly #isValidProof: (session: Session) => boolean

  /** @param isValidProof whether the proof of a login is still valid */
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

  /** Starts a session under a new id (threat O2), which it returns. */
  async begin(login: Login): Promise<string> {
    const id = createSessionId()
    await this.#store.add(digestOf(id), { ...login, expiresMs: this.#clock.wallMs() + this.#maxAgeMs })
    return id
  }

  /** Starts the session of a repository's host, which lasts as long as the common host's; undefined without one. */
  async beginOn(repo: string, parent: string): Promise<string | undefined> {
    const session = this.#valid(await this.#store.find(parent))
    if (session === undefined || session.of !== undefined) return undefined
    const id = createSessionId()
    await this.#store.add(digestOf(id), { ...session, of: { repo, parent } })
    return id
  }

  /**
   * Returns a session on a repository's host, else on the common host.
   *
   * @throws SESSIONS_UNAVAILABLE when the store fails
   */
  find(id: string | undefined, repo?: string): Session | undefined | Promise<Session | undefined> {
    if (id === undefined) return undefined
    const found = this.#find(id)
    return found instanceof Promise
      ? found.then((session) => (session?.of?.repo === repo ? session : undefined))
      : found?.of?.repo === repo
        ? found
        : undefined
  }

  /** Returns a session as `find` does, if that needs no lookup in the store; undefined if `find` must decide. */
  fresh(id: string, repo?: string): Session | undefined {
    const seen = this.#freshlySeen(id)
    const session = seen && this.#valid(seen)
    return session?.of?.repo === repo ? session : undefined
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
    // Another request may have read the session meanwhile.
    forget()
  }

  #find(id: string): Session | undefined | Promise<Session | undefined> {
    const seen = this.#freshlySeen(id)
    if (seen !== undefined) return this.#valid(seen)
    if (!isSessionId(id)) return undefined
    const found = this.#store.find(digestOf(id))
    return found instanceof Promise
      ? found.then((session) => this.#withParent(id, session))
      : this.#withParent(id, found)
  }

  /** Returns a session that was read from the store within the last second, valid or not. */
  #freshlySeen(id: string): Session | undefined {
    const seen = this.#seen.get(id)
    return seen !== undefined && this.#clock.nowMs() - seen.readMs < TRUST_MS ? seen.session : undefined
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
