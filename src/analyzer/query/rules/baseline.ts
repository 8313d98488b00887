/** Largest baseline that is read. */
export const MAX_BASELINE_BYTES = 4 * 2 ** 20

/** Violations that are known and do not fail the check. A violation can be in it several times. */
export class Baseline {
  readonly #counts = new Map<string, number>()

  /** Reads a baseline: one violation per line; `#` begins a comment line. Yields often. */
  static *read(text: string): Generator<void, Baseline> {
    const baseline = new Baseline()
    for (const [at, each] of text.split('\n').entries()) {
      if (at % 1024 === 0) yield
      const line = each.replace(/\r$/, '')
      if (line === '' || line.startsWith('#')) continue
      baseline.#counts.set(line, (baseline.#counts.get(line) ?? 0) + 1)
    }
    return baseline
  }

  /** Removes a violation; returns whether it was there. */
  take(key: string): boolean {
    const count = this.#counts.get(key) ?? 0
    if (count === 1) this.#counts.delete(key)
    else if (count > 1) this.#counts.set(key, count - 1)
    return count > 0
  }

  /** Returns the violations that were not taken: they no longer exist. */
  rest(): readonly string[] {
    return [...this.#counts].flatMap(([key, count]) => Array.from({ length: count }, () => key))
  }
}

/** Returns the text of a baseline, sorted so that changes to it are easy to review. */
export function baselineText(keys: readonly string[]): string {
  const head = [
    '# Known violations of the architecture rules, written by "analyzer rules --freeze".',
    '# A line that is removed fails the check if its violation still exists.',
  ]
  return `${[...head, ...keys.toSorted()].join('\n')}\n`
}
