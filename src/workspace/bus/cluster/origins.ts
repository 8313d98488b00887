import type { Clock } from '../../../lib/clock/clock.ts'

/** More than that are not kept: who answers the oldest must then say which server the workspace is on. */
const MAX_REQUESTS = 50_000

/** Which server a request came from, as long as somebody may answer it: listeners need not say it. */
export class Origins {
  readonly #keepMs: number
  readonly #clock: Clock
  /** Oldest first. */
  readonly #servers = new Map<string, { readonly server: string; readonly untilMs: number }>()

  constructor(keepMs: number, clock: Clock) {
    this.#keepMs = keepMs
    this.#clock = clock
  }

  keep(id: string, server: string): void {
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
