import { Store } from '../state/store.ts'
import { texts } from '../texts.ts'

const BUS_TOKEN_HEADER = 'workspace-bus-token'
const KEYS = { server: 'workspace-token', bus: 'workspace-bus-token' } as const

/** The scope of a token: the server, or its message bus, which may have a separate token. */
export type Realm = keyof typeof KEYS

/** Tokens that the server requires and the user has not entered. */
export const missingTokens = new Store<ReadonlySet<Realm>>(new Set())

/** Stores a token for the lifetime of this tab. */
export function setToken(realm: Realm, token: string): void {
  sessionStorage.setItem(KEYS[realm], token)
  missingTokens.set(new Set([...missingTokens.value].filter((each) => each !== realm)))
}

/** Returns whether a token is stored. If the server still asks for it, the stored one is wrong. */
export function hasToken(realm: Realm): boolean {
  return tokenOf(realm) !== null
}

function tokenOf(realm: Realm): string | null {
  return sessionStorage.getItem(KEYS[realm])
}

/** An error response; `status` is 0 if the server could not be reached. */
export class ServerError extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

/** Options of a request. */
export interface RequestOptions {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly body?: unknown
  readonly signal?: AbortSignal
  readonly accept?: string
}

/** Sends a request with this tab's tokens. @throws a `ServerError` */
export async function request(path: string, options: RequestOptions = {}): Promise<Response> {
  const { method = 'GET', body, signal, accept = 'application/json' } = options
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
    // The error message names the header of the missing token.
    const realm = error.message.includes(BUS_TOKEN_HEADER) ? 'bus' : 'server'
    // A late response to an earlier token must not reject one entered since.
    if (tokens[realm] === tokenOf(realm)) missingTokens.set(new Set([...missingTokens.value, realm]))
  }
  throw error
}

/** Sends a request and resolves with its JSON, or undefined for an empty response. @throws a `ServerError` */
export async function fetchJson<T>(path: string, options: RequestOptions = {}): Promise<T> {
  const response = await request(path, options)
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

/** Returns the message of anything thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
