import { createPool, type Pool, type PoolOptions } from './pool.ts'

/**
 * A pool whose process ends when nobody has asked for anything for a while: for work that comes in bursts and holds much memory.
 * The next task starts another.
 */
export class IdlePool implements Pool {
  readonly #options: PoolOptions
  readonly #idleMs: number
  #pool: Pool | undefined
  #running = 0
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(options: PoolOptions, idleMs: number) {
    this.#options = options
    this.#idleMs = idleMs
  }

  async run(...asked: Parameters<Pool['run']>): Promise<unknown> {
    clearTimeout(this.#timer)
    this.#pool ??= createPool(this.#options)
    const pool = this.#pool
    if (this.#isClosed) await pool.close()
    this.#running++
    try {
      return await pool.run(...asked)
    } finally {
      if (--this.#running === 0) this.#timer = this.#endWhenIdle()
    }
  }

  warm(): void {
    this.#pool ??= createPool(this.#options)
    this.#pool.warm()
    clearTimeout(this.#timer)
    if (this.#running === 0) this.#timer = this.#endWhenIdle()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.end()
  }

  /** Ends the process, and rejects what still runs in it with POOL_CLOSED. */
  async end(): Promise<void> {
    clearTimeout(this.#timer)
    const pool = this.#pool
    this.#pool = undefined
    await pool?.close()
  }

  #endWhenIdle(): NodeJS.Timeout {
    return setTimeout(() => void this.end(), this.#idleMs).unref()
  }
}
