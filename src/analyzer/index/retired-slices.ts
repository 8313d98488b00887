/** So many are kept for whoever still answers from an earlier scan, such as another server of the same folder. */
const MIN_RETAINED = 64

/**
 * Slices of class folders that a project had once. Their keys hold the times of files that have been written again since, so no
 * scan will find them any more, and the store would keep them for ever. (Those of archives may be another project's.)
 */
export class RetiredSlices {
  #current: ReadonlySet<string> = new Set()
  /** The longest retired first. */
  readonly #retired = new Set<string>()

  /** Takes the keys of the latest scan, and returns those that may be dropped: many at once, and seldom. */
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
