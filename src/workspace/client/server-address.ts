import type { Static } from 'typebox'
import { readFileSync } from 'node:fs'
import { Fault } from '../../lib/errors/fault.ts'
import { messageOf } from '../../lib/errors/message.ts'
import { kindOfStatus } from '../../lib/http/status.ts'
import { parseJson } from '../../lib/schema/parse-json.ts'
import { errorSchema } from '../api/error.ts'

/** Header for the bus token, `bus.token`; the Authorization header may carry the server's token. */
export const BUS_TOKEN_HEADER = 'workspace-bus-token'

/** Header with the event ID from which a listener continues if it receives no event. */
export const LAST_EVENT_ID_HEADER = 'workspace-last-event-id'

/** Address and credentials of a workspace server. */
export interface ServerAddress {
  readonly name: string
  /** `http://…`, `https://…`, or `unix:///path/of/socket`. */
  readonly url: string
  /** File with the server's token. */
  readonly tokenFile?: string | undefined
  /** The server's token itself, which takes precedence. */
  readonly token?: string | undefined
  /** File with the bus token. */
  readonly busTokenFile?: string | undefined
  /** The bus token itself, which takes precedence. */
  readonly busToken?: string | undefined
  /** Address of the SSH server, if it differs from the API's host and the port that the API reports. */
  readonly ssh?: { readonly host?: string | undefined; readonly port?: number | undefined } | undefined
}

/** Returns the socket path of a `unix:///path` address, else undefined. */
export function socketPathOf({ url }: ServerAddress): string | undefined {
  return url.startsWith('unix:') ? decodeURIComponent(new URL(url).pathname) : undefined
}

/** Returns the headers that carry the server's tokens. */
export function authorizationOf(server: ServerAddress): Record<string, string> {
  const { tokenFile, busTokenFile } = server
  const token = server.token ?? (tokenFile === undefined ? undefined : readToken(server, tokenFile))
  const busToken =
    server.busToken ?? (busTokenFile === undefined ? undefined : readToken(server, busTokenFile))
  return {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(busToken !== undefined && { [BUS_TOKEN_HEADER]: busToken }),
  }
}

function readToken({ name }: ServerAddress, file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (cause) {
    const remedy = 'set its path, or remove it if the server requires no token'
    throw new Fault(
      'TOKEN_FILE_UNREADABLE',
      'invalid',
      `cannot read the token file of server ${name} (${messageOf(cause)}); ${remedy}`,
      { cause },
    )
  }
}

/** Returns the error for a server that does not respond. */
export function unreachable({ name, url }: ServerAddress, why: string, cause?: unknown): Fault {
  return new Fault(
    'SERVER_UNREACHABLE',
    'unavailable',
    `server ${name} at ${url} is not responding (${why}); start it with "workspace serve", or select another with WORKSPACE_URL`,
    { cause },
  )
}

/** The error in a response body. */
export type ErrorBody = Static<typeof errorSchema>['error']

/** Returns the fault from a response's status and body. */
export function faultFromAnswer(status: number, body: string): Fault {
  return toFault(status, parseJson(errorSchema, body)?.error)
}

/** Returns the fault for a response's status and error, which may be missing. */
export function toFault(status: number, error: ErrorBody | undefined): Fault {
  const kind = kindOfStatus(status)
  return new Fault(error?.code ?? 'INTERNAL_ERROR', kind, error?.message ?? `the server answered ${status}`)
}
