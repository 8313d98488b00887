import { onTestFinished } from 'vitest'
import { Pool, type PoolOptions, type RunOptions } from '../../src/lib/pool/pool.ts'
import type { Act } from '../fixtures/pool/act.ts'

const worker = new URL('../fixtures/pool/act.ts', import.meta.url)

/** Pool whose worker does what a test asks. */
export class ActingPool extends Pool {
  act(task: Act, options?: RunOptions): Promise<unknown> {
    return this.run(worker, task, options)
  }
}

/** A pool that closes with the test, and a shortcut to its test worker. */
export function actingPool(options: Partial<PoolOptions> = {}): ActingPool {
  const pool = new ActingPool({ name: 'test', maxThreads: 2, ...options })
  onTestFinished(() => pool.close())
  return pool
}
