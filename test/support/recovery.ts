import type { TestContext } from 'vitest'

declare module 'vitest' {
  interface TaskMeta {
    recoveryMs?: number
  }
}

/**
 * Does what brings a program back after a fault. How long that took, the longest time of a test, goes into the report of the
 * tests, for the table of `npm run faults`.
 */
export async function recovery<T>({ task }: TestContext, work: () => Promise<T>): Promise<T> {
  const beganMs = performance.now()
  const result = await work()
  task.meta.recoveryMs = Math.max(task.meta.recoveryMs ?? 0, performance.now() - beganMs)
  return result
}
