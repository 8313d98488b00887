import { type Confinement, ConfinedPlaces } from '../sandbox/confine.ts'
import { Pool, type PoolOptions } from './pool.ts'

/** A started pool and its number of running tasks. */
interface Started {
  readonly pool: Pool
  readonly places: ConfinedPlaces | undefined
  running: number
}

/**
 * A pool whose process exits when it is idle, for work that comes in bursts and uses much memory.
 * The next task starts a new one.
 */
export class IdlePool {
  #options: PoolOptions
  readonly #idleMs: number
  #started: Started | undefined
  /** Pools with an outdated confinement that are finishing their tasks. */
  readonly #retired = new Set<Started>()
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(options: PoolOptions, idleMs: number) {
    this.#options = options
    this.#idleMs = idleMs
  }

  /**
   * Sets the confinement from the next task on. A process that can already reach everything stays; otherwise it finishes its tasks and
   * exits, as it does if its directories were replaced since it started.
   */
  confine(confinement: Confinement): void {
    const started = this.#started
    if (started !== undefined && started.places?.cover(confinement) !== true) {
      this.#started = undefined
      if (started.running > 0) this.#retired.add(started)
      else void started.pool.close()
    }
    if (this.#started === undefined) this.#options = { ...this.#options, confinement }
  }

  async run(...asked: Parameters<Pool['run']>): Promise<unknown> {
    clearTimeout(this.#timer)
    const started = this.#start()
    if (this.#isClosed) await started.pool.close()
    started.running++
    try {
      return await started.pool.run(...asked)
    } finally {
      started.running--
      if (started.running === 0 && this.#retired.delete(started)) void started.pool.close()
      this.#endWhenIdle()
    }
  }

  warm(): void {
    this.#start().pool.warm()
    this.#endWhenIdle()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.end()
  }

  /** Closes the pool and rejects running tasks with POOL_CLOSED. */
  async end(): Promise<void> {
    clearTimeout(this.#timer)
    const started = [...(this.#started === undefined ? [] : [this.#started]), ...this.#retired]
    this.#started = undefined
    this.#retired.clear()
    await Promise.all(started.map(({ pool }) => pool.close()))
  }

  #start(): Started {
    const { confinement } = this.#options
    this.#started ??= {
      pool: new Pool(this.#options),
      places: confinement && new ConfinedPlaces(confinement),
      running: 0,
    }
    return this.#started
  }

  #endWhenIdle(): void {
    clearTimeout(this.#timer)
    const started = this.#started
    if (started !== undefined && started.running === 0)
      this.#timer = setTimeout(() => void this.end(), this.#idleMs).unref()
  }
}
