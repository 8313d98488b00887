import type { Logger } from '../../lib/log/logger.ts'
import { createPool, type Pool } from '../../lib/pool/pool.ts'
import { workerFile } from '../../lib/pool/worker-file.ts'

/** The process ends when nothing has been scanned for so long: it holds more memory than the server, and is soon started again. */
const IDLE_MS = 20_000

/** The process in which class files are read and the store is written. */
export class ScanPool {
  readonly #logger: Logger
  #pool: Pool
  #timer: NodeJS.Timeout | undefined

  constructor(logger: Logger) {
    this.#logger = logger
    this.#pool = this.#new()
  }

  /** As `Pool.run`, of a worker by its name. */
  run(worker: string, task: unknown): Promise<unknown> {
    return this.#pool.run(workerFile(worker), task)
  }

  /** Something is about to be run. */
  wake(): void {
    clearTimeout(this.#timer)
  }

  /** Nothing runs any more. */
  rest(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.replace(), IDLE_MS).unref()
  }

  /** Ends the process; the next task starts another. */
  async replace(): Promise<void> {
    const old = this.#pool
    this.#pool = this.#new()
    await old.close()
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer)
    await this.#pool.close()
  }

  #new(): Pool {
    return createPool({ name: 'analyzer', logger: this.#logger })
  }
}
