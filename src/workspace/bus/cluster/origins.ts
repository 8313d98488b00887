import type { Clock } from '../../../lib/clock/clock.ts'

/** Older requests are forgotten; an answer to them must name the workspace's server. */
const MAX_REQUESTS = 50_000

/** Remembers which server each unanswered request came from, so that listeners need not name it. */
export class Origins {
  readonly #keepMs: number
  readonly #clock: Clock
  /** Oldest first. */
  readonly #servers = new Map<string, { readonly server: string; readonly untilMs: number }>()

  constructor(keepMs: number, clock: Clock) {
    this.#keepMs = keepMs
    this.#clock = clock
  }

  add(id: string, server: string): void {
    const nowMs = this.#clock.nowMs()
    for (const [oldest, { untilMs }] of this.#servers) {
      if (untilMs > nowMs && this.#servers.size < MAX_REQUESTS) break
      this.#servers.delete(oldest)
    }
    this.#servers.set(id, { server, untilMs: nowMs + this.#keepMs })
  }

  of(id: string): string | undefined {
    return this.#servers.get(id)?.server
  }
}
