/** Retired slices kept for readers of an earlier scan, such as another server of the same folder. */
const MIN_RETAINED = 64

/**
 * Slices of class folders that the project no longer has. Their keys contain the times of files that were
 * overwritten since, so no scan finds them again, and the store would keep them forever. (Slices of archives
 * may belong to another project.)
 */
export class RetiredSlices {
  #current: ReadonlySet<string> = new Set()
  /** Ordered by time of retirement, the oldest first. */
  readonly #retired = new Set<string>()

  /** Records the keys of the latest scan, and returns those to drop: rarely, and then many. */
  next(keys: readonly string[]): readonly string[] {
    const before = this.#current
    this.#current = new Set(keys)
    for (const key of before) if (!this.#current.has(key)) this.#retired.add(key)
    for (const key of keys) this.#retired.delete(key)
    if (this.#retired.size < 2 * MIN_RETAINED) return []
    const dropped = [...this.#retired].slice(0, -MIN_RETAINED)
    for (const key of dropped) this.#retired.delete(key)
    return dropped
  }
}
