import type { TestContext } from 'vitest'

declare module 'vitest' {
  interface TaskMeta {
    recoveryMs?: number
  }
}

/**
 * Runs the recovery of a program after a fault. The duration, or the longest one of a test, is added to the test report for the
 * table of `npm run faults`.
 */
export async function recovery<T>({ task }: TestContext, work: () => Promise<T>): Promise<T> {
  const beganMs = performance.now()
  const result = await work()
  task.meta.recoveryMs = Math.max(task.meta.recoveryMs ?? 0, performance.now() - beganMs)
  return result
}
