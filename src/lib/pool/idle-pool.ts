import { type Confinement, ConfinedPlaces } from '../sandbox/confine.ts'
import { Pool, type PoolOptions } from './pool.ts'

/** A pool that was started, and how many tasks run in it. */
interface Started {
  readonly pool: Pool
  readonly places: ConfinedPlaces | undefined
  running: number
}

/**
 * A pool whose process ends when nobody has asked for anything for a while: for work that comes in bursts and holds much memory.
 * The next task starts another.
 */
export class IdlePool {
  #options: PoolOptions
  readonly #idleMs: number
  #started: Started | undefined
  /** Those whose confinement no longer fits, while they finish their tasks. */
  readonly #retired = new Set<Started>()
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(options: PoolOptions, idleMs: number) {
    this.#options = options
    this.#idleMs = idleMs
  }

  /**
   * Sets what the process can reach from the next task on. A process that can already reach all of it stays; another one finishes its tasks and ends, and so
   * does one whose directories have been replaced since it started.
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

  /** Ends the process, and rejects what still runs in it with POOL_CLOSED. */
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
