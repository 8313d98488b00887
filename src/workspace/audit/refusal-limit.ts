const WINDOW_MS = 60_000
/** Of one kind and one address, within a window. */
const OF_ADDRESS = 5
/** Of all addresses together, within a window: a flood fills no disk. */
const OF_ALL = 100

/** Lets a few refusals a minute of each address into the audit file, and counts those that it leaves out. */
export class RefusalLimit {
  readonly #now: () => number
  readonly #counts = new Map<string, number>()
  #windowMs = 0
  #passed = 0
  #leftOut = 0

  /** @param now milliseconds since the epoch */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Undefined for a refusal that is left out, else how many were since the last that was not. */
  take(action: string, address: string): number | undefined {
    const nowMs = this.#now()
    if (Math.abs(nowMs - this.#windowMs) >= WINDOW_MS) {
      this.#windowMs = nowMs
      this.#passed = 0
      this.#counts.clear()
    }
    const key = `${action} ${address}`
    const count = this.#counts.get(key) ?? 0
    if (count >= OF_ADDRESS || this.#passed >= OF_ALL) {
      this.#leftOut += 1
      return undefined
    }
    this.#counts.set(key, count + 1)
    this.#passed += 1
    const leftOut = this.#leftOut
    this.#leftOut = 0
    return leftOut
  }
}
