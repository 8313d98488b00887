import { Redis } from 'ioredis'
import type { Static } from 'typebox'
import { Type } from '../../lib/schema/type.ts'
import { messageOf } from '../../lib/errors/message.ts'
import { fault } from '../errors.ts'
import { type ServiceToken, serviceTokenSchema } from './service-token.ts'
import {
  type Session,
  sessionSchema,
  type SessionStore,
  type Ticket,
  ticketSchema,
  type Tries,
} from './session-store.ts'
import { parseJson } from '../../lib/schema/parse-json.ts'

const ANSWER_MS = 2_000
/** Lifetime of a counter whose window expired while an attempt was being returned. */
const RETURNED_MS = 1
const SESSION = 'content-server:session:'
const USER = 'content-server:user:'
const TICKET = 'content-server:ticket:'
/** Tokens by the digests of their secrets, and a hash of the digests by name. */
const TOKEN = 'content-server:token:'
const TOKENS = 'content-server:tokens'
const TRIES = 'content-server:tries:'

const tokenEntrySchema = Type.Object({ digest: Type.String(), token: serviceTokenSchema })

/** Sessions in a Redis or Valkey server that all hosts share. */
export class RedisSessionStore implements SessionStore {
  readonly #redis: Redis

  private constructor(redis: Redis) {
    this.#redis = redis
  }

  /** Connects to the server. @throws SESSIONS_UNAVAILABLE when it does not respond */
  static async open(url: string): Promise<RedisSessionStore> {
    const redis = new Redis(url, {
      lazyConnect: true,
      commandTimeout: ANSWER_MS,
      connectTimeout: ANSWER_MS,
      maxRetriesPerRequest: 1,
      retryStrategy: (times) => Math.min(times * 100, 2_000),
    })
    redis.on('error', () => undefined)
    const store = new RedisSessionStore(redis)
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
    const text = await this.#try(() => this.#redis.get(SESSION + digest))
    return text === null ? undefined : parseJson(sessionSchema, text)
  }

  async addTicket(digest: string, ticket: Ticket): Promise<void> {
    await this.#try(() => this.#redis.set(TICKET + digest, JSON.stringify(ticket), 'PXAT', ticket.expiresMs))
  }

  async consumeTicket(digest: string): Promise<Ticket | undefined> {
    // GETDEL requires Redis 6.2; a transaction is atomic on every version.
    const key = TICKET + digest
    const answers = await this.#try(() => this.#redis.multi().get(key).del(key).exec())
    const [error, text] = answers?.[0] ?? []
    if (error) throw error
    return typeof text === 'string' ? parseJson(ticketSchema, text) : undefined
  }

  async addToken(digest: string, token: ServiceToken): Promise<boolean> {
    const text = JSON.stringify(token)
    return this.#try(async () => {
      // The transaction fails if another client changes a token meanwhile.
      await this.#redis.watch(TOKENS)
      const before = await this.#entry(token.name)
      if (before !== undefined && (await this.#redis.exists(TOKEN + before.digest)) === 1) {
        await this.#redis.unwatch()
        return false
      }
      const done = await this.#redis
        .multi()
        .set(TOKEN + digest, text, 'PXAT', token.expiresMs)
        .hset(TOKENS, token.name, JSON.stringify({ digest, token }))
        .exec()
      return done !== null
    })
  }

  async findToken(digest: string): Promise<ServiceToken | undefined> {
    const text = await this.#try(() => this.#redis.get(TOKEN + digest))
    return text === null ? undefined : parseJson(serviceTokenSchema, text)
  }

  async listTokens(): Promise<readonly ServiceToken[]> {
    const entries = await this.#try(() => this.#redis.hvals(TOKENS))
    return entries.flatMap((text) => parseJson(tokenEntrySchema, text)?.token ?? [])
  }

  async removeToken(name: string): Promise<boolean> {
    return this.#try(async () => {
      const entry = await this.#entry(name)
      const answers = await this.#redis
        .multi()
        .del(TOKEN + (entry?.digest ?? ''))
        .hdel(TOKENS, name)
        .exec()
      return answers?.[1]?.[1] === 1
    })
  }

  async #entry(name: string): Promise<Static<typeof tokenEntrySchema> | undefined> {
    const text = await this.#redis.hget(TOKENS, name)
    return text === null ? undefined : parseJson(tokenEntrySchema, text)
  }

  async remove(digest: string): Promise<void> {
    await this.#try(() => this.#redis.del(SESSION + digest))
  }

  async removeUser(user: string): Promise<number> {
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

  async returnTry(who: string): Promise<void> {
    // Without a window there is nothing to return; a counter that expires meanwhile is negative only for a moment.
    const key = TRIES + who
    await this.#try(async () => {
      if ((await this.#redis.exists(key)) === 1)
        await this.#redis.multi().decr(key).pexpire(key, RETURNED_MS, 'NX').exec()
    })
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
        `the sessions' Redis at ${host}:${port} does not respond: ${messageOf(error)}`,
        error,
      )
    }
  }
}
