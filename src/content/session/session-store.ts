import { randomBytes } from 'node:crypto'
import type { Static } from 'typebox'
import { Type } from '../../lib/schema/type.ts'
import type { ServiceToken } from './service-token.ts'

/** Milliseconds since the epoch. */
const time = Type.Integer({ minimum: 0 })

const claims = {
  /** Groups that the provider reported at the login. */
  groups: Type.Optional(Type.Array(Type.String())),
  /** Whether the provider has verified that the user's name, an address, is theirs. */
  isVerified: Type.Optional(Type.Boolean()),
}

/** Schema of what a provider reported at a login; sessions of earlier versions have nothing of it. */
export const claimsSchema = Type.Object(claims)

/** Schema of a stored session. */
export const sessionSchema = Type.Object({
  user: Type.String(),
  /** Proof of the login; the session ends when the user's proof changes. */
  proof: Type.String(),
  expiresMs: time,
  ...claims,
  /** Set on the session of a repository's host, which ends with its parent session. */
  of: Type.Optional(Type.Object({ repo: Type.String(), parent: Type.String() })),
})

/** A valid login. */
export type Session = Readonly<Static<typeof sessionSchema>>

/** Schema of a stored ticket. */
export const ticketSchema = Type.Object({
  /** Digest of the session on the common host. */
  parent: Type.String(),
  repo: Type.String(),
  /** Digest of the secret that the browser keeps for that host. */
  state: Type.String(),
  expiresMs: time,
})

/** A one-time, short-lived ticket from the common host to a repository's host, for one browser. */
export type Ticket = Readonly<Static<typeof ticketSchema>>

/**
 * Stores sessions and service tokens under digests, so that a reader of the store cannot log in with its content. Every
 * method throws SESSIONS_UNAVAILABLE when the store fails.
 */
export interface SessionStore {
  /** Stores a session; once this resolves it survives a crash. */
  add(digest: string, session: Session): Promise<void>
  /** Returns undefined for a session that has ended or never existed. */
  find(digest: string): Session | undefined | Promise<Session | undefined>
  /** Stores a ticket under its digest. */
  addTicket(digest: string, ticket: Ticket): Promise<void>
  /** Removes a ticket and returns it, to exactly one of all concurrent callers on all hosts. */
  consumeTicket(digest: string): Promise<Ticket | undefined>
  /** Stores a service token under the digest of its secret; returns false if a token with its name has not expired. */
  addToken(digest: string, token: ServiceToken): Promise<boolean>
  /** Returns the token with a secret, even if it has expired. */
  findToken(digest: string): ServiceToken | undefined | Promise<ServiceToken | undefined>
  /** Returns all tokens, including those that have expired. */
  listTokens(): Promise<readonly ServiceToken[]>
  /** Revokes the token with a name, on every host; returns whether it existed. */
  removeToken(name: string): Promise<boolean>
  /** Ends one session, on every host. */
  remove(digest: string): Promise<void>
  /** Ends all sessions of a user; returns how many. */
  removeUser(user: string): Promise<number>
  /**
   * Counts an attempt within a window that starts with the first, across all hosts. Returns the number of attempts
   * and the end of the window.
   */
  countTry(who: string, windowMs: number): Promise<Tries>
  /** Uncounts an attempt. */
  returnTry(who: string): Promise<void>
  forgetTries(who: string): Promise<void>
  close(): Promise<void>
}

/** Attempts counted in a window. */
export interface Tries {
  readonly count: number
  readonly endsInMs: number
}

const ID_BYTES = 32
const ID = /^[A-Za-z0-9_-]{43}$/

/** Creates an unguessable id. */
export function createSessionId(): string {
  return randomBytes(ID_BYTES).toString('base64url')
}

/** Whether a text has the form of a session id. */
export function isSessionId(text: string): boolean {
  return ID.test(text)
}
