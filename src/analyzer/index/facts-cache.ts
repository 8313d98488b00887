import type { Facts } from '../bytecode/facts.ts'

/** How much is kept in memory between questions. */
const KEPT_BYTES = 96 * 2 ** 20
/** Nothing is kept once nobody has asked for so long … */
const IDLE_MS = 30_000
/** … or a scan has ended so long ago. */
const SETTLED_MS = 1_000

/** Facts of slices that have lately been asked for. */
export class FactsCache {
  readonly #read: (key: string) => Facts
  readonly #rest: () => void
  /** Last used stands last. */
  readonly #kept = new Map<string, Facts>()
  #keptBytes = 0
  #timer: NodeJS.Timeout | undefined

  /**
   * @param read throws when they are not there any more
   * @param rest nobody has asked for anything for a while
   */
  constructor(read: (key: string) => Facts, rest: () => void) {
    this.#read = read
    this.#rest = rest
  }

  /** @throws as `read` */
  get(key: string): Facts {
    const known = this.#kept.get(key)
    const facts = known ?? this.#read(key)
    this.#kept.delete(key)
    this.#kept.set(key, facts)
    if (known === undefined) this.#keptBytes += facts.buffer.byteLength
    for (const [oldest, { buffer }] of this.#kept) {
      if (this.#keptBytes <= KEPT_BYTES || oldest === key) break
      this.#kept.delete(oldest)
      this.#keptBytes -= buffer.byteLength
    }
    this.used()
    return facts
  }

  /** Somebody asks: what that leaves behind is given back a while later. */
  used(): void {
    this.#restIn(IDLE_MS)
  }

  /** A scan has left much behind. */
  restSoon(): void {
    this.#restIn(SETTLED_MS)
  }

  clear(): void {
    clearTimeout(this.#timer)
    this.#kept.clear()
    this.#keptBytes = 0
    this.#rest()
  }

  #restIn(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.clear(), ms).unref()
  }
}
