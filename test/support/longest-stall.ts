/**
 * Measures the longest time in milliseconds for which this thread computed without a turn of its event loop, until the
 * returned function ends that and returns it. Time in which other programs had the processor does not count.
 */
export function longestStall(): () => number {
  let longestMs = 0
  let lastMs = performance.now()
  let lastUsage = process.cpuUsage()
  const watch = setInterval(() => {
    const { user, system } = process.cpuUsage(lastUsage)
    const nowMs = performance.now()
    longestMs = Math.max(longestMs, Math.min(nowMs - lastMs, (user + system) / 1_000))
    lastMs = nowMs
    lastUsage = process.cpuUsage()
  }, 5)
  return () => {
    clearInterval(watch)
    return longestMs
  }
}
