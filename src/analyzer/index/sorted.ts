/** The place of the first of a sorted array that is not below a value; its length where there is none. */
export function firstOf(value: number, sorted: ArrayLike<number>): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sorted[middle] ?? 0) < value) low = middle + 1
    else high = middle
  }
  return low
}
