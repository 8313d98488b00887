import { getPriority, setPriority } from 'node:os'

/** How much more weight this process gets: with ten steps of niceness some nine times that of what it runs. */
const STEPS = 10
const HIGHEST = -20

/** Niceness that this process began with, once it has been raised. */
let base: number | undefined

/**
 * Puts the main thread of this process above the programs that it runs, so that it answers while they use every processor. Does nothing
 * where the system does not allow that, as it allows root alone.
 */
export function raisePriority(): void {
  const before = getPriority()
  try {
    setPriority(Math.max(before - STEPS, HIGHEST))
    base = before
  } catch {
    // Everything works without it, and waits longer on a busy machine.
  }
}

/** Starts a program with the priority that this process began with: programs inherit that of the thread that starts them. */
export function atBasePriority<T>(start: () => T): T {
  if (base === undefined) return start()
  const raised = getPriority()
  setPriority(base)
  try {
    return start()
  } finally {
    setPriority(raised)
  }
}
