import { onTestFinished } from 'vitest'
import { createPool, type Pool, type PoolOptions, type RunOptions } from '../../src/lib/pool/pool.ts'
import type { Act } from '../fixtures/pool/act.ts'

const worker = new URL('../fixtures/pool/act.ts', import.meta.url)

export interface ActingPool extends Pool {
  act(act: Act, options?: RunOptions): Promise<unknown>
}

/** A pool that goes with the test, and a short way to its acting worker. */
export function actingPool(options: Partial<PoolOptions> = {}): ActingPool {
  const pool = createPool({ name: 'test', maxThreads: 2, ...options })
  onTestFinished(() => pool.close())
  return {
    run: (...args) => pool.run(...args),
    act: (task, runOptions) => pool.run(worker, task, runOptions),
    warm: () => pool.warm(),
    close: () => pool.close(),
  }
}
