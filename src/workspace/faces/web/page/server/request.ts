import { Store } from '../state/store.ts'
import { texts } from '../texts.ts'

const BUS_TOKEN_HEADER = 'workspace-bus-token'
const KEYS = { server: 'workspace-token', bus: 'workspace-bus-token' } as const

/** Whose token is meant: the server's own, or that of its message bus, which may have another. */
export type Realm = keyof typeof KEYS

/** Which tokens the server has asked for and not been given. */
export const missingTokens = new Store<ReadonlySet<Realm>>(new Set())

/** Kept for this tab alone, and gone with it. */
export function setToken(realm: Realm, token: string): void {
  sessionStorage.setItem(KEYS[realm], token)
  missingTokens.set(new Set([...missingTokens.value].filter((each) => each !== realm)))
}

/** One that was sent and is asked for again was the wrong one. */
export function hasToken(realm: Realm): boolean {
  return tokenOf(realm) !== null
}

function tokenOf(realm: Realm): string | null {
  return sessionStorage.getItem(KEYS[realm])
}

/** What the server answered instead of what was asked for; `status` 0 where it could not be reached. */
export class ServerError extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

export interface Asking {
  readonly method?: 'GET' | 'POST' | 'DELETE'
  readonly body?: unknown
  readonly signal?: AbortSignal
  readonly accept?: string
}

/** The answer to a request, with the tokens that this tab has. @throws a `ServerError` */
export async function request(path: string, asking: Asking = {}): Promise<Response> {
  const { method = 'GET', body, signal, accept = 'application/json' } = asking
  const tokens = { server: tokenOf('server'), bus: tokenOf('bus') }
  const headers = {
    accept,
    ...(tokens.server !== null && { authorization: `Bearer ${tokens.server}` }),
    ...(tokens.bus !== null && path.startsWith('/api/plugins') && { [BUS_TOKEN_HEADER]: tokens.bus }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
  }
  let response: Response
  try {
    response = await fetch(path, {
      method,
      headers,
      ...(signal && { signal }),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
  } catch (error) {
    if (signal?.aborted === true) throw error
    throw new ServerError(0, 'UNREACHABLE', texts.errors.unreachable)
  }
  if (response.ok) return response
  const error = await errorOf(response)
  if (error.status === 401) {
    // Which of the two it wants is told by the header that its sentence names.
    const realm = error.message.includes(BUS_TOKEN_HEADER) ? 'bus' : 'server'
    // A late answer to an earlier token must not reject the one that was entered since.
    if (tokens[realm] === tokenOf(realm)) missingTokens.set(new Set([...missingTokens.value, realm]))
  }
  throw error
}

/** The JSON that a request is answered with; undefined where there is none. */
export async function ask<T>(path: string, asking: Asking = {}): Promise<T> {
  const response = await request(path, asking)
  return (response.status === 204 ? undefined : await response.json()) as T
}

async function errorOf(response: Response): Promise<ServerError> {
  try {
    const { error } = (await response.json()) as { error: { code: string; message: string } }
    return new ServerError(response.status, error.code, error.message)
  } catch {
    return new ServerError(response.status, 'UNREADABLE', texts.errors.unreadable(response.status))
  }
}

/** A sentence for people, whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
