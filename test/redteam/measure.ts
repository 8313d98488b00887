import { readdirSync, readFileSync } from 'node:fs'

const EVERY_MS = 25

/** Returns the total resident memory of this process's descendants in MiB; 0 if there are none. */
function descendantsMb(): number {
  const parents = new Map<number, number>()
  const mb = new Map<number, number>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      const status = readFileSync(`/proc/${name}/status`, 'utf8')
      parents.set(Number(name), Number(/^PPid:\s*(\d+)/m.exec(status)?.[1]))
      // Shared pages of programs and libraries are not counted per process.
      mb.set(Number(name), Number(/^RssAnon:\s*(\d+)/m.exec(status)?.[1] ?? 0) / 1024)
    } catch {
      // It has exited.
    }
  }
  const isDescendant = (pid: number | undefined): boolean =>
    pid !== undefined && pid > 1 && (parents.get(pid) === process.pid || isDescendant(parents.get(pid)))
  let sum = 0
  for (const [pid, each] of mb) if (pid !== process.pid && isDescendant(pid)) sum += each
  return sum
}

/** Runs work; returns its result, the peak memory of child processes, and its duration. */
export async function measured<T>(
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly peakMb: number; readonly seconds: number }> {
  let peakMb = 0
  const timer = setInterval(() => (peakMb = Math.max(peakMb, descendantsMb())), EVERY_MS)
  const began = performance.now()
  try {
    const result = await work()
    return {
      result,
      peakMb: Math.round(Math.max(peakMb, descendantsMb())),
      seconds: Math.round((performance.now() - began) / 100) / 10,
    }
  } finally {
    clearInterval(timer)
  }
}
