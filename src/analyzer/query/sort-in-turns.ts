/** Values that are sorted in one turn. */
const RUN_LENGTH = 2_048

/**
 * Sorts values by their keys' code units, so that the order is the same on every machine, and yields wherever it can pause. The
 * sort is stable.
 */
export function* sortInTurns<T>(values: readonly T[], keyOf: (value: T) => string): Generator<void, T[]> {
  const inOrder = (a: T, b: T): number => compare(keyOf(a), keyOf(b))
  let runs: T[][] = []
  for (let at = 0; at < values.length; at += RUN_LENGTH) {
    runs.push(values.slice(at, at + RUN_LENGTH).toSorted(inOrder))
    yield
  }
  while (runs.length > 1) {
    const merged: T[][] = []
    for (let at = 0; at < runs.length; at += 2)
      merged.push(yield* mergeInTurns(runs[at] ?? [], runs[at + 1] ?? [], inOrder))
    runs = merged
  }
  return runs[0] ?? []
}

function* mergeInTurns<T>(a: T[], b: T[], inOrder: (a: T, b: T) => number): Generator<void, T[]> {
  if (b.length === 0) return a
  const merged: T[] = []
  for (let [i, j] = [0, 0]; i < a.length || j < b.length;) {
    const isFirst = j === b.length || (i < a.length && inOrder(a[i] as T, b[j] as T) <= 0)
    merged.push((isFirst ? a[i++] : b[j++]) as T)
    if (merged.length % RUN_LENGTH === 0) yield
  }
  return merged
}

/** Compares texts by code units. */
export function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
