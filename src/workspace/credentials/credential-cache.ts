import type { Logger } from '../../lib/log/logger.ts'
import { nameKey } from '../name.ts'
import type { Credentials } from './credentials.ts'
import type { Clock } from '../../lib/clock/clock.ts'
import { ignore } from '../../lib/errors/ignore.ts'

/** How long a caller waits for new credentials while old ones are valid: SDKs give up after a second. */
const PATIENCE_MS = 700
/** Share of the lifetime below which new credentials are fetched in the background. */
const AHEAD_SHARE = 0.25
const FIRST_RETRY_MS = 1_000
const LAST_RETRY_MS = 60_000

/** Options of a credential cache. */
export interface CacheOptions {
  /** Fetches credentials; its error is reported to the caller. */
  readonly fetch: (workspace: string) => Promise<Credentials>
  readonly sessionDurationMs: number
  /** Credentials with less time left than this are returned only after an attempt to replace them. */
  readonly cacheRefreshBeforeMs: number
  /** Whether old credentials are returned while they are valid and new ones cannot be fetched. */
  readonly serveWhileValid: boolean
  readonly logger: Logger
  readonly clock: Clock
}

interface CachedCredentials {
  readonly credentials: Credentials
  readonly untilWallMs: number
  readonly untilMonotonicMs: number
}

interface Entry {
  cached?: CachedCredentials
  /** The pending fetch, shared by all callers (threat C3). */
  fetching?: Promise<Credentials>
  failure?: { readonly error: unknown; readonly retryAtMs: number; readonly delayMs: number }
}

/**
 * Caches each workspace's credentials and shares one fetch among concurrent callers. Lifetimes are measured
 * with two clocks, so that neither a changed clock nor a suspended host makes expired credentials look valid
 * (fault F20).
 */
export class CredentialCache {
  readonly #options: CacheOptions
  readonly #entries = new Map<string, Entry>()

  constructor(options: CacheOptions) {
    this.#options = options
  }

  /** Returns a workspace's credentials. @throws what `fetch` throws */
  async get(workspace: string): Promise<Credentials> {
    const entry = this.#entryOf(workspace)
    const { cached } = entry
    const leftMs = this.#leftMs(cached)
    if (cached === undefined || leftMs <= 0) {
      delete entry.cached
      return this.#fetch(workspace, entry)
    }
    const { cacheRefreshBeforeMs, sessionDurationMs, serveWhileValid } = this.#options
    if (leftMs > Math.max(cacheRefreshBeforeMs, sessionDurationMs * AHEAD_SHARE)) return cached.credentials
    const fetched = this.#fetch(workspace, entry)
    if (leftMs > cacheRefreshBeforeMs) {
      fetched.catch(ignore('it is logged, and the cached ones are still valid'))
      return cached.credentials
    }
    return serveWhileValid ? orElse(fetched, cached.credentials) : fetched
  }

  #entryOf(workspace: string): Entry {
    const key = nameKey(workspace)
    const existing = this.#entries.get(key)
    if (existing !== undefined) return existing
    // Entries of deleted workspaces are dropped.
    for (const [other, { cached, fetching }] of this.#entries)
      if (fetching === undefined && this.#leftMs(cached) <= 0) this.#entries.delete(other)
    const entry: Entry = {}
    this.#entries.set(key, entry)
    return entry
  }

  #fetch(workspace: string, entry: Entry): Promise<Credentials> {
    if (entry.fetching !== undefined) return entry.fetching
    const { failure } = entry
    // Failures are remembered so that callers do not retry a failing STS once a second (fault F21).
    if (failure !== undefined && this.#options.clock.nowMs() < failure.retryAtMs)
      return Promise.reject(failure.error)
    entry.fetching = this.#fetchNow(workspace, entry).finally(() => delete entry.fetching)
    return entry.fetching
  }

  async #fetchNow(workspace: string, entry: Entry): Promise<Credentials> {
    const { fetch, logger, clock } = this.#options
    try {
      const credentials = await fetch(workspace)
      entry.cached = this.#cached(credentials)
      delete entry.failure
      logger.info({ workspace, expiration: credentials.expiration.toISOString() }, 'credentials issued')
      return credentials
    } catch (error) {
      const delayMs = Math.min((entry.failure?.delayMs ?? FIRST_RETRY_MS / 2) * 2, LAST_RETRY_MS)
      entry.failure = { error, delayMs, retryAtMs: clock.nowMs() + delayMs * (0.5 + Math.random() / 2) }
      const leftMs = this.#leftMs(entry.cached)
      logger.warn({ workspace, err: error, leftMs }, 'issuing credentials failed')
      throw error
    }
  }

  #cached(credentials: Credentials): CachedCredentials {
    const nowMs = this.#options.clock.wallMs()
    const reportedMs = credentials.expiration.getTime() - nowMs
    // A clock that differs from the STS clock by an entire lifetime cannot be compared with the expiration.
    const lifeMs =
      reportedMs > 0 ? Math.min(reportedMs, this.#options.sessionDurationMs) : this.#options.sessionDurationMs
    return {
      credentials,
      untilWallMs: nowMs + lifeMs,
      untilMonotonicMs: this.#options.clock.nowMs() + lifeMs,
    }
  }

  #leftMs(cached: CachedCredentials | undefined): number {
    if (cached === undefined) return 0
    const { clock } = this.#options
    return Math.min(cached.untilWallMs - clock.wallMs(), cached.untilMonotonicMs - clock.nowMs())
  }
}

/** Resolves to the fetched credentials, or to `other` when fetching fails or takes too long. */
async function orElse(fetched: Promise<Credentials>, other: Credentials): Promise<Credentials> {
  const { promise: late, resolve } = Promise.withResolvers<Credentials>()
  const timer = setTimeout(() => resolve(other), PATIENCE_MS)
  try {
    return await Promise.race([
      fetched.catch(ignore('it is logged, and the cached ones are still valid', other)),
      late,
    ])
  } finally {
    clearTimeout(timer)
  }
}
