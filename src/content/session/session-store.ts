import { createHash, randomBytes } from 'node:crypto'
import type { Static } from 'typebox'
import { Type } from '../../lib/schema/type.ts'

/** Milliseconds since the epoch. */
const time = Type.Integer({ minimum: 0 })

export const sessionSchema = Type.Object({
  user: Type.String(),
  /** What the login was proven with: it ends when that is another one. */
  proof: Type.String(),
  expiresMs: time,
  /** Set on the session of a repository's own host: it ends with the one that it comes from. */
  of: Type.Optional(Type.Object({ repo: Type.String(), parent: Type.String() })),
})

/** A login that counts. */
export type Session = Readonly<Static<typeof sessionSchema>>

export const ticketSchema = Type.Object({
  /** Digest of the session on the common host. */
  parent: Type.String(),
  repo: Type.String(),
  /** Digest of what the browser keeps for that host. */
  state: Type.String(),
  expiresMs: time,
})

/** A reader's way from the common host to a repository's: for one host and one browser, once, and soon. */
export type Ticket = Readonly<Static<typeof ticketSchema>>

/**
 * Where sessions are, under the digests of their ids: whoever reads the store cannot log in with what is in it. Every method
 * throws SESSIONS_UNAVAILABLE when that cannot be told.
 */
export interface SessionStore {
  /** Keeps a session; once this resolves it outlives a crash. */
  add(digest: string, session: Session): Promise<void>
  /** Undefined for one that has ended or never was. */
  find(digest: string): Session | undefined | Promise<Session | undefined>
  /** Keeps a ticket under its digest. */
  addTicket(digest: string, ticket: Ticket): Promise<void>
  /** Removes a ticket and returns it, to one caller alone, however many ask at once on all hosts. */
  takeTicket(digest: string): Promise<Ticket | undefined>
  /** Ends one session, on every host. */
  remove(digest: string): Promise<void>
  /** Ends all sessions of a user; says how many. */
  removeUser(user: string): Promise<number>
  /**
   * Counts one more try of somebody within a window that begins with the first, on all hosts together. Returns how many these
   * are, and when the window ends.
   */
  countTry(who: string, windowMs: number): Promise<Tries>
  /** Takes back one try that was counted. */
  returnTry(who: string): Promise<void>
  forgetTries(who: string): Promise<void>
  close(): Promise<void>
}

export interface Tries {
  readonly count: number
  readonly endsInMs: number
}

const ID_BYTES = 32
const ID = /^[A-Za-z0-9_-]{43}$/

/** A new id that nobody can guess. */
export function createSessionId(): string {
  return randomBytes(ID_BYTES).toString('base64url')
}

export function isSessionId(text: string): boolean {
  return ID.test(text)
}

/** Under what a session is kept. That ids are compared by their digests also leaves nothing to time. */
export function digestOf(id: string): string {
  return createHash('sha256').update(id).digest('base64url')
}
