import type { AlarmClock } from '../../lib/clock/clock.ts'
import type { Choice, ProxyRoutes } from './proxy-routes.ts'

interface Held {
  readonly release: (isReady: boolean) => void
}

/**
 * Requests that wait for a process to start. Their bodies are not read: clients wait, too. Their number and the duration
 * are limited.
 */
export class HeldRequests {
  readonly #routes: ProxyRoutes
  readonly #clock: AlarmClock
  readonly #most: number
  /** By subdomain, oldest first. */
  readonly #held = new Map<string, Set<Held>>()
  #count = 0

  constructor(routes: ProxyRoutes, clock: AlarmClock, most: number) {
    this.#routes = routes
    this.#clock = clock
    this.#most = most
  }

  get isFull(): boolean {
    return this.#count >= this.#most
  }

  /**
   * Holds a request. Calls `onRelease` once, later: when its process is ready or not expected to be, or after the limit. Returns a
   * function that forgets the request.
   */
  hold({ target }: Choice, limitMs: number, onRelease: (isReady: boolean) => void): () => void {
    const { subdomain } = target
    const all = this.#held.get(subdomain) ?? new Set()
    this.#held.set(subdomain, all)
    const forget = (): void => {
      if (!all.delete(held)) return
      this.#count--
      if (all.size === 0) this.#held.delete(subdomain)
      cancel()
    }
    const held: Held = {
      release(isReady) {
        forget()
        onRelease(isReady)
      },
    }
    const cancel = this.#clock.after(limitMs, () => held.release(false))
    all.add(held)
    this.#count++
    return forget
  }

  /** Releases requests whose processes are ready, or not expected to be. */
  update(): void {
    for (const [subdomain, all] of this.#held) {
      if (this.#routes.choose(subdomain)?.isPending === true) continue
      // One that waits again is not among them.
      const now = [...all]
      for (const held of now) held.release(true)
    }
  }

  /** Releases all requests. */
  close(): void {
    for (const all of this.#held.values()) for (const held of all) held.release(false)
  }
}
