import { LRUCache } from 'lru-cache'
import type { Clock } from '../../lib/clock/clock.ts'
import { digestOf } from '../../lib/http/secret-form.ts'
import { isSecret, type ServiceToken } from './service-token.ts'
import type { SessionStore } from './session-store.ts'
import { TRUST_MS } from './sessions.ts'

const KEPT = 1_000

/** Valid tokens of programs. A token that another process revokes ends within a second. */
export class ServiceTokens {
  readonly #store: Pick<SessionStore, 'findToken'>
  readonly #clock: Clock
  readonly #seen = new LRUCache<string, { readonly token: ServiceToken; readonly readMs: number }>({
    max: KEPT,
  })

  constructor(store: Pick<SessionStore, 'findToken'>, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /** Returns the valid token with a secret. @throws SESSIONS_UNAVAILABLE when the store fails */
  find(secret: string): ServiceToken | undefined | Promise<ServiceToken | undefined> {
    if (!isSecret(secret)) return undefined
    const digest = digestOf(secret)
    const seen = this.#seen.get(digest)
    if (seen !== undefined && this.#clock.nowMs() - seen.readMs < TRUST_MS) return this.#valid(seen.token)
    const found = this.#store.findToken(digest)
    return found instanceof Promise
      ? found.then((token) => this.#keep(digest, token))
      : this.#keep(digest, found)
  }

  #keep(digest: string, token: ServiceToken | undefined): ServiceToken | undefined {
    if (token === undefined) this.#seen.delete(digest)
    else this.#seen.set(digest, { token, readMs: this.#clock.nowMs() })
    return this.#valid(token)
  }

  #valid(token: ServiceToken | undefined): ServiceToken | undefined {
    return token !== undefined && token.expiresMs > this.#clock.wallMs() ? token : undefined
  }
}
