import { closeSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { makeDirs } from '../../lib/fs/make-dirs.ts'
import { messageOf } from '../../lib/errors/message.ts'
import type { Clock } from '../../lib/clock/clock.ts'
import { fault } from '../errors.ts'
import { parseJson } from '../../lib/schema/parse-json.ts'
import { type ServiceToken, serviceTokenSchema } from './service-token.ts'
import { claimsSchema, type Session, type SessionStore, type Ticket, type Tries } from './session-store.ts'

/** How long a process waits for another process's write. */
const BUSY_MS = 2_000
const SWEEP_MS = 60_000

/** Version of the tables below, stored in the file; 0 means a new file. */
const FORMAT = 3
/** Format 2 added the sessions of repository hosts and their tickets, format 3 claims of providers and service tokens. */
const TABLE = `
  CREATE TABLE IF NOT EXISTS session (
    digest TEXT PRIMARY KEY, user TEXT NOT NULL, proof TEXT NOT NULL, expires_ms INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS host_session (digest TEXT PRIMARY KEY, repo TEXT NOT NULL, parent TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS claims (digest TEXT PRIMARY KEY, json TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS ticket (
    digest TEXT PRIMARY KEY, parent TEXT NOT NULL, repo TEXT NOT NULL, state TEXT NOT NULL, expires_ms INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS token (
    name TEXT PRIMARY KEY, digest TEXT NOT NULL UNIQUE, expires_ms INTEGER NOT NULL, json TEXT NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS try (who TEXT PRIMARY KEY, count INTEGER NOT NULL, ends_ms INTEGER NOT NULL) WITHOUT ROWID`
const FIND = `
  SELECT user, proof, expires_ms, repo, parent, json AS claims
  FROM session LEFT JOIN host_session USING (digest) LEFT JOIN claims USING (digest) WHERE digest = ?`
const ADD_TOKEN = `
  INSERT INTO token (name, digest, expires_ms, json) VALUES ($name, $digest, $expires, $json)
  ON CONFLICT (name) DO UPDATE SET digest = $digest, expires_ms = $expires, json = $json WHERE expires_ms <= $now`
const COUNT_TRY = `
  INSERT INTO try (who, count, ends_ms) VALUES ($who, 1, $ends)
  ON CONFLICT (who) DO UPDATE SET
    count = CASE WHEN ends_ms <= $now OR ends_ms > $ends THEN 1 ELSE count + 1 END,
    ends_ms = CASE WHEN ends_ms <= $now OR ends_ms > $ends THEN $ends ELSE ends_ms END
  RETURNING count, ends_ms`

/**
 * Sessions in one SQLite file, which all processes of a host may share: the others see a change with their next
 * lookup.
 */
export class FileSessionStore implements SessionStore {
  readonly #file: string
  readonly #database: DatabaseSync
  readonly #clock: Clock
  readonly #find: StatementSync
  #sweptMs = 0

  private constructor(file: string, database: DatabaseSync, clock: Clock) {
    this.#file = file
    this.#clock = clock
    this.#database = database
    this.#find = database.prepare(FIND)
  }

  /**
   * Opens the file, or creates it.
   *
   * @throws SESSIONS_UNAVAILABLE when it is damaged; it is never emptied automatically
   */
  static async open(file: string, clock: Clock): Promise<FileSessionStore> {
    try {
      // Node has it from 22.13 on.
      const { DatabaseSync: Database } = await import('node:sqlite')
      makeDirs(dirname(file), 0o700)
      closeSync(openSync(file, 'a', 0o600))
      const database = new Database(file, { timeout: BUSY_MS })
      checkFormat(database)
      database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
      database.exec(TABLE)
      const nowMs = clock.wallMs()
      database.prepare('DELETE FROM session WHERE expires_ms <= ?').run(nowMs)
      database.prepare('DELETE FROM try WHERE ends_ms <= ?').run(nowMs)
      for (const table of ['host_session', 'claims'])
        database.exec(`DELETE FROM ${table} WHERE digest NOT IN (SELECT digest FROM session)`)
      return new FileSessionStore(file, database, clock)
    } catch (error) {
      throw unavailable(file, error)
    }
  }

  async add(digest: string, { user, proof, expiresMs, of, ...claims }: Session): Promise<void> {
    this.#try(() => {
      // Written first: these rows have no effect without their session, and it must not exist without them.
      if (Object.keys(claims).length > 0)
        this.#database
          .prepare('INSERT INTO claims (digest, json) VALUES (?, ?)')
          .run(digest, JSON.stringify(claims))
      if (of !== undefined)
        this.#database
          .prepare('INSERT INTO host_session (digest, repo, parent) VALUES (?, ?, ?)')
          .run(digest, of.repo, of.parent)
      this.#database
        .prepare('INSERT INTO session (digest, user, proof, expires_ms) VALUES (?, ?, ?, ?)')
        .run(digest, user, proof, expiresMs)
    })
  }

  find(digest: string): Session | undefined {
    const row = this.#try(() => this.#find.get(digest)) as SessionRow | undefined
    if (row === undefined) return undefined
    const { user, proof, expires_ms: expiresMs, repo, parent, claims } = row
    return {
      user,
      proof,
      expiresMs,
      ...(claims !== null && parseJson(claimsSchema, claims)),
      ...(repo !== null && parent !== null && { of: { repo, parent } }),
    }
  }

  async addTicket(digest: string, { parent, repo, state, expiresMs }: Ticket): Promise<void> {
    this.#try(() => {
      this.#database.prepare('DELETE FROM ticket WHERE expires_ms <= ?').run(this.#clock.wallMs())
      this.#database
        .prepare('INSERT INTO ticket (digest, parent, repo, state, expires_ms) VALUES (?, ?, ?, ?, ?)')
        .run(digest, parent, repo, state, expiresMs)
    })
  }

  async consumeTicket(digest: string): Promise<Ticket | undefined> {
    const row = this.#try(() =>
      this.#database
        .prepare('DELETE FROM ticket WHERE digest = ? RETURNING parent, repo, state, expires_ms AS expiresMs')
        .get(digest),
    )
    return row as unknown as Ticket | undefined
  }

  async addToken(digest: string, token: ServiceToken): Promise<boolean> {
    const { changes } = this.#try(() =>
      this.#database.prepare(ADD_TOKEN).run({
        $name: token.name,
        $digest: digest,
        $expires: token.expiresMs,
        $json: JSON.stringify(token),
        $now: this.#clock.wallMs(),
      }),
    )
    return Number(changes) > 0
  }

  findToken(digest: string): ServiceToken | undefined {
    const row = this.#try(() => this.#database.prepare('SELECT json FROM token WHERE digest = ?').get(digest))
    return row === undefined ? undefined : parseJson(serviceTokenSchema, String(row['json']))
  }

  async listTokens(): Promise<readonly ServiceToken[]> {
    const rows = this.#try(() => this.#database.prepare('SELECT json FROM token').all())
    return rows.flatMap(({ json }) => parseJson(serviceTokenSchema, String(json)) ?? [])
  }

  async removeToken(name: string): Promise<boolean> {
    const { changes } = this.#try(() => this.#database.prepare('DELETE FROM token WHERE name = ?').run(name))
    return Number(changes) > 0
  }

  async remove(digest: string): Promise<void> {
    this.#try(() => this.#database.prepare('DELETE FROM session WHERE digest = ?').run(digest))
  }

  async removeUser(user: string): Promise<number> {
    const { changes } = this.#try(() =>
      this.#database.prepare('DELETE FROM session WHERE user = ?').run(user),
    )
    return Number(changes)
  }

  async countTry(who: string, windowMs: number): Promise<Tries> {
    const nowMs = this.#clock.wallMs()
    this.#sweepTries(nowMs)
    const row = this.#try(() =>
      this.#database.prepare(COUNT_TRY).get({ $who: who, $now: nowMs, $ends: nowMs + windowMs }),
    ) as { readonly count: number; readonly ends_ms: number }
    return { count: row.count, endsInMs: row.ends_ms - nowMs }
  }

  async returnTry(who: string): Promise<void> {
    this.#try(() =>
      this.#database.prepare('UPDATE try SET count = count - 1 WHERE who = ? AND count > 0').run(who),
    )
  }

  async forgetTries(who: string): Promise<void> {
    this.#try(() => this.#database.prepare('DELETE FROM try WHERE who = ?').run(who))
  }

  /** Removes expired counters once a minute: each name at each address has one. */
  #sweepTries(nowMs: number): void {
    if (Math.abs(nowMs - this.#sweptMs) < SWEEP_MS) return
    this.#sweptMs = nowMs
    this.#try(() => this.#database.prepare('DELETE FROM try WHERE ends_ms <= ?').run(nowMs))
  }

  async close(): Promise<void> {
    this.#database.close()
  }

  #try<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      throw unavailable(this.#file, error)
    }
  }
}

interface SessionRow {
  readonly user: string
  readonly proof: string
  readonly expires_ms: number
  readonly repo: string | null
  readonly parent: string | null
  readonly claims: string | null
}

/** @throws Error when a newer version created the file, which is left unchanged */
function checkFormat(database: DatabaseSync): void {
  const found = Number(database.prepare('PRAGMA user_version').get()?.['user_version'])
  if (found > FORMAT)
    throw new Error(`its format ${found} is from a newer version; this version supports ${FORMAT}`)
  if (found < FORMAT) database.exec(`PRAGMA user_version = ${FORMAT}`)
}

function unavailable(file: string, error: unknown): Error {
  return fault(
    'SESSIONS_UNAVAILABLE',
    `the sessions in ${file} cannot be used: ${messageOf(error)}; move the file away to start with an empty one; everybody must log in again, and service tokens must be created again`,
    error,
  )
}
