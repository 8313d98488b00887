import type { Facts } from '../bytecode/facts.ts'

/** How much is kept in memory between queries. */
const MAX_BYTES = 96 * 2 ** 20
/** Nothing is kept once nobody has asked for so long … */
const IDLE_MS = 30_000
/** … or a scan has ended so long ago. */
const AFTER_SCAN_MS = 1_000

/** Facts of slices that have lately been asked for. */
export class FactsCache {
  readonly #read: (key: string) => Facts
  readonly #onIdle: () => void
  /** Last used stands last. */
  readonly #entries = new Map<string, Facts>()
  #bytes = 0
  #timer: NodeJS.Timeout | undefined

  /**
   * @param read throws when they are not there any more
   * @param rest nobody has asked for anything for a while
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
    this.used()
    return facts
  }

  /** Somebody asks: what that leaves behind is given back a while later. */
  used(): void {
    this.#clearIn(IDLE_MS)
  }

  /** A scan has left much behind. */
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
