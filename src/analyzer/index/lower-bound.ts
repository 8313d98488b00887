/** The first place from `start` on that is not before what is looked for; `end` where all are. What is before must come first. */
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
