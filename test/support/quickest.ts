/**
 * Returns the least of up to `times` measurements in milliseconds; one below `enoughMs` is the last. During others,
 * other programs may have had the processors.
 */
export async function leastMs(enoughMs: number, measure: () => Promise<number>, times = 5): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let run = 0; run < times && least >= enoughMs; run++) least = Math.min(least, await measure())
  return least
}

/** Returns the shortest duration in milliseconds of up to `times` runs of some work, as `leastMs` does. */
export function quickestMs(enoughMs: number, work: () => unknown, times?: number): Promise<number> {
  const measure = async (): Promise<number> => {
    const beganMs = performance.now()
    await work()
    return performance.now() - beganMs
  }
  return leastMs(enoughMs, measure, times)
}
