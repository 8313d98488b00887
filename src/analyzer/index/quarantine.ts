import { isFault } from '../../lib/errors/fault.ts'
import type { Logger } from '../../lib/log/logger.ts'
import { stampIfThere } from './slices.ts'

/** Places that have again and again ended the process that read them: they are left out until they change. */
export class Quarantine {
  /** With their stamps. */
  readonly #places = new Map<string, string | undefined>()
  readonly #logger: Logger

  constructor(logger: Logger) {
    this.#logger = logger
  }

  get paths(): readonly string[] {
    return [...this.#places.keys()]
  }

  has(path: string): boolean {
    return this.#places.has(path)
  }

  add(path: string): void {
    this.#places.set(path, stampIfThere(path))
    this.#logger.error({ path }, 'reading this has ended its process again and again; it is left out')
  }

  /** What has changed is tried again. */
  releaseChanged(): void {
    for (const [path, stamp] of this.#places) if (stampIfThere(path) !== stamp) this.#places.delete(path)
  }
}

/** Whether the process that was at work has ended. */
export function hasCrashed(error: unknown): boolean {
  return isFault(error) && error.code === 'POOL_CRASHED'
}
