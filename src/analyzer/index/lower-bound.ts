/**
 * Returns the first index from `start` for which `isBefore` is false, or `end`. The range must be sorted
 * accordingly.
 */
export function lowerBound(start: number, end: number, isBefore: (at: number) => boolean): number {
  let low = start
  let high = end
  while (low < high) {
    const middle = (low + high) >> 1
    if (isBefore(middle)) low = middle + 1
    else high = middle
  }
  return low
}
