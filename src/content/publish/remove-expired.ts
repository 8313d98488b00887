import type { AlarmClock, Clock } from '../../lib/clock/clock.ts'
import type { Logger } from '../../lib/log/logger.ts'
import { isExpired } from '../repo/expiry.ts'
import { REPOS } from '../repo/repo-list.ts'
import { readMeta } from '../repo/stored-meta.ts'
import type { Store } from '../store/store.ts'
import { keptMs } from './sweep.ts'
import { removeFolder } from './unpublish.ts'

const FIRST_MS = 60_000
const EVERY_MS = 3_600_000

/** Store, time and limits of a removal. */
interface Removal {
  readonly store: Store
  readonly clock: Clock
  /** `cache.ttl` of the servers. */
  readonly ttlMs: number
  /** Called after objects of a version were deleted. */
  readonly onRemoved: (repo: string, version: string, objects: number) => void
  /** Called when a version could not be removed. */
  readonly onFailed: (repo: string, error: unknown) => void
  readonly signal?: AbortSignal
}

/**
 * Deletes the published files of versions that expired long enough ago. Right before each few deletions it reads the
 * end again, and stops if the version was published again or the metadata cannot be read. Never changes metadata, so
 * several hosts can run it while others publish.
 */
export async function removeExpired(removal: Removal): Promise<void> {
  const { store, onFailed, signal } = removal
  for (const repo of await store.listNames(REPOS)) {
    if (signal?.aborted === true) return
    try {
      const { expires } = await readMeta(store, repo, `${REPOS}${repo}/`)
      for (const version of expires?.keys() ?? []) await removeIfDue(removal, repo, version)
    } catch (error) {
      onFailed(repo, error)
    }
  }
}

async function removeIfDue(removal: Removal, repo: string, version: string): Promise<void> {
  const { store, clock, ttlMs, signal, onRemoved } = removal
  const root = `${REPOS}${repo}/`
  const isDue = async (): Promise<boolean> =>
    signal?.aborted !== true &&
    isExpired(await readMeta(store, repo, root), version, clock.wallMs() - keptMs(ttlMs))
  if (!(await isDue())) return
  const folder = `${root}${version}/`
  const there = new Set<string>()
  for await (const { key } of store.list(folder)) there.add(key)
  if (there.size === 0) return
  const { length } = await removeFolder(store, folder, there, isDue)
  if (length > 0) onRemoved(repo, version, length)
}

/** Removes expired versions soon after a server starts, and then every hour. */
export class ExpiredRemover {
  readonly #store: Store
  readonly #clock: AlarmClock
  readonly #logger: Logger
  readonly #ttlMs: number
  readonly #stopping = new AbortController()
  #cancel: () => void
  #running: Promise<void> | undefined
  readonly #failures = new Set<string>()

  constructor(store: Store, clock: AlarmClock, logger: Logger, ttlMs: number) {
    this.#store = store
    this.#clock = clock
    this.#logger = logger
    this.#ttlMs = ttlMs
    this.#cancel = this.#schedule(FIRST_MS)
  }

  /** Stops after the deletions that have begun. */
  async close(): Promise<void> {
    this.#stopping.abort()
    this.#cancel()
    await this.#running
  }

  #schedule(afterMs: number): () => void {
    return this.#clock.after(afterMs, () => {
      this.#running = this.#run().finally(() => {
        if (!this.#stopping.signal.aborted) this.#cancel = this.#schedule(EVERY_MS)
      })
    })
  }

  async #run(): Promise<void> {
    let hasFailed = false
    const onFailed = (repo: string | undefined, error: unknown): void => {
      hasFailed = true
      const failure = `${repo} ${String(error)}`
      // A server that may not delete would report the same every hour.
      if (!this.#failures.has(failure))
        this.#logger.warn({ err: error, repo }, 'expired versions were not removed from the store')
      this.#failures.add(failure)
    }
    try {
      await removeExpired({
        store: this.#store,
        clock: this.#clock,
        ttlMs: this.#ttlMs,
        signal: this.#stopping.signal,
        onRemoved: (repo, version, objects) =>
          this.#logger.info({ repo, version, objects }, 'an expired version was removed from the store'),
        onFailed,
      })
    } catch (error) {
      onFailed(undefined, error)
    }
    if (!hasFailed) this.#failures.clear()
  }
}
