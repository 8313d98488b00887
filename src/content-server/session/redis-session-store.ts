import { Redis } from 'ioredis'
import { LRUCache } from 'lru-cache'
import { messageOf } from '../../lib/errors/message.ts'
import type { Clock } from '../clock.ts'
import { fault } from '../errors.ts'
import type { Session, SessionStore, Tries } from './session-store.ts'

const ANSWER_MS = 2_000
/** How long another host's revocation may take to be seen here; each request would ask otherwise. */
const TRUST_MS = 1_000
const KEPT = 10_000
const SESSION = 'content-server:session:'
const USER = 'content-server:user:'
const TRIES = 'content-server:tries:'

/** Sessions in a Redis or Valkey that all hosts share; a revocation counts on all of them within a second. */
export class RedisSessionStore implements SessionStore {
  readonly #redis: Redis
  readonly #clock: Clock
  readonly #seen: LRUCache<string, { readonly session: Session; readonly readMs: number }>

  private constructor(redis: Redis, clock: Clock) {
    this.#redis = redis
    this.#clock = clock
    this.#seen = new LRUCache({ max: KEPT })
  }

  /** Connects; throws SESSIONS_UNAVAILABLE when nothing answers. */
  static async open(url: string, clock: Clock): Promise<RedisSessionStore> {
    const redis = new Redis(url, {
      lazyConnect: true,
      commandTimeout: ANSWER_MS,
      connectTimeout: ANSWER_MS,
      maxRetriesPerRequest: 1,
      retryStrategy: (times) => Math.min(times * 100, 2_000),
    })
    redis.on('error', () => undefined)
    const store = new RedisSessionStore(redis, clock)
    try {
      await store.#try(() => redis.connect())
    } catch (error) {
      redis.disconnect()
      throw error
    }
    return store
  }

  async add(digest: string, session: Session): Promise<void> {
    const { user, expiresMs } = session
    await this.#try(() =>
      this.#redis
        .multi()
        .set(SESSION + digest, JSON.stringify(session), 'PXAT', expiresMs)
        .sadd(USER + user, digest)
        .pexpireat(USER + user, expiresMs)
        .exec(),
    )
  }

  async find(digest: string): Promise<Session | undefined> {
    const seen = this.#seen.get(digest)
    if (seen !== undefined && this.#clock.nowMs() - seen.readMs < TRUST_MS) return seen.session
    const text = await this.#try(() => this.#redis.get(SESSION + digest))
    if (text === null) {
      this.#seen.delete(digest)
      return undefined
    }
    const session = JSON.parse(text) as Session
    this.#seen.set(digest, { session, readMs: this.#clock.nowMs() })
    return session
  }

  async remove(digest: string): Promise<void> {
    this.#seen.delete(digest)
    await this.#try(() => this.#redis.del(SESSION + digest))
  }

  async removeUser(user: string): Promise<number> {
    this.#seen.clear()
    return this.#try(async () => {
      const digests = await this.#redis.smembers(USER + user)
      const removed = digests.length === 0 ? 0 : await this.#redis.del(digests.map((each) => SESSION + each))
      await this.#redis.srem(USER + user, '', ...digests)
      return removed
    })
  }

  async countTry(who: string, windowMs: number): Promise<Tries> {
    const key = TRIES + who
    const answers = await this.#try(() =>
      this.#redis.multi().incr(key).pexpire(key, windowMs, 'NX').pttl(key).exec(),
    )
    const [count, , endsInMs] = (answers ?? []).map(([error, value]) => {
      if (error !== null) throw error
      return Number(value)
    })
    return { count: count ?? 0, endsInMs: endsInMs ?? 0 }
  }

  async forgetTries(who: string): Promise<void> {
    await this.#try(() => this.#redis.del(TRIES + who))
  }

  async close(): Promise<void> {
    this.#redis.disconnect()
  }

  async #try<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      const { host, port } = this.#redis.options
      throw fault(
        'SESSIONS_UNAVAILABLE',
        `the sessions' Redis at ${host}:${port} does not answer: ${messageOf(error)}`,
        error,
      )
    }
  }
}
