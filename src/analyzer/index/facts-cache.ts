import type { Facts } from '../bytecode/facts.ts'

/** Maximum size of cached facts. */
const MAX_BYTES = 96 * 2 ** 20
/** The cache is cleared after so long without a query … */
const IDLE_MS = 30_000
/** … or so long after a scan. */
const AFTER_SCAN_MS = 1_000

/** Least-recently-touch cache of slices' facts. */
export class FactsCache {
  readonly #read: (key: string) => Facts
  readonly #onIdle: () => void
  /** Ordered by last use, the most recent last. */
  readonly #entries = new Map<string, Facts>()
  #bytes = 0
  #timer: NodeJS.Timeout | undefined

  /**
   * @param read throws when the facts no longer exist
   * @param onIdle called when the cache is cleared
   */
  constructor(read: (key: string) => Facts, onIdle: () => void) {
    this.#read = read
    this.#onIdle = onIdle
  }

  /** @throws as `read` */
  get(key: string): Facts {
    const cached = this.#entries.get(key)
    const facts = cached ?? this.#read(key)
    this.#entries.delete(key)
    this.#entries.set(key, facts)
    if (cached === undefined) this.#bytes += facts.buffer.byteLength
    for (const [oldest, { buffer }] of this.#entries) {
      if (this.#bytes <= MAX_BYTES || oldest === key) break
      this.#entries.delete(oldest)
      this.#bytes -= buffer.byteLength
    }
    this.touch()
    return facts
  }

  /** Postpones clearing the cache, because a query is running. */
  touch(): void {
    this.#clearIn(IDLE_MS)
  }

  /** Schedules clearing the cache soon, because a scan leaves much garbage. */
  releaseSoon(): void {
    this.#clearIn(AFTER_SCAN_MS)
  }

  clear(): void {
    clearTimeout(this.#timer)
    this.#entries.clear()
    this.#bytes = 0
    this.#onIdle()
  }

  #clearIn(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.clear(), ms).unref()
  }
}
