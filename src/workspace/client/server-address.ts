import type { Static } from 'typebox'
import { readFileSync } from 'node:fs'
import { Fault } from '../../lib/errors/fault.ts'
import { messageOf } from '../../lib/errors/message.ts'
import { kindOfStatus } from '../../lib/http/status.ts'
import { parseJson } from '../../lib/schema/parse-json.ts'
import { errorSchema } from '../api/error.ts'

/** Carries the token of the bus, `bus.token`: the usual header may carry the server's. */
export const BUS_TOKEN_HEADER = 'workspace-bus-token'

/** A workspace server as its clients know it. */
export interface ServerAddress {
  readonly name: string
  /** `http://…`, `https://…`, or `unix:///path/of/socket`. */
  readonly url: string
  readonly tokenFile?: string | undefined
  /** What its bus wants beside that: the file with it, or itself. */
  readonly busTokenFile?: string | undefined
  readonly busToken?: string | undefined
  /** Where its SSH server is, when not on the API's host and the port that the API tells. */
  readonly ssh?: { readonly host?: string | undefined; readonly port?: number | undefined } | undefined
}

/** The path of the Unix socket that a `unix:///path` address names. */
export function socketPathOf({ url }: ServerAddress): string | undefined {
  return url.startsWith('unix:') ? decodeURIComponent(new URL(url).pathname) : undefined
}

/** The headers that a server with tokens wants. */
export function authorizationOf(server: ServerAddress): Record<string, string> {
  const { tokenFile, busTokenFile } = server
  const busToken =
    server.busToken ?? (busTokenFile === undefined ? undefined : readToken(server, busTokenFile))
  return {
    ...(tokenFile !== undefined && { authorization: `Bearer ${readToken(server, tokenFile)}` }),
    ...(busToken !== undefined && { [BUS_TOKEN_HEADER]: busToken }),
  }
}

function readToken({ name }: ServerAddress, file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (cause) {
    const remedy = 'name the file that holds it, or none where the server wants none'
    throw new Fault(
      'TOKEN_FILE_UNREADABLE',
      'invalid',
      `the token of server ${name} cannot be read (${messageOf(cause)}); ${remedy}`,
      { cause },
    )
  }
}

export function unreachable({ name, url }: ServerAddress, why: string): Fault {
  return new Fault(
    'SERVER_UNREACHABLE',
    'unavailable',
    `server ${name} at ${url} does not answer (${why}); start it with "workspace serve", or name another with WORKSPACE_URL`,
  )
}

export type ErrorBody = Static<typeof errorSchema>['error']

/** The server's own fault, from the status and body of its answer. */
export function faultFromAnswer(status: number, body: string): Fault {
  return toFault(status, parseJson(errorSchema, body)?.error)
}

export function toFault(status: number, error: ErrorBody | undefined): Fault {
  const kind = kindOfStatus(status)
  return new Fault(error?.code ?? 'INTERNAL_ERROR', kind, error?.message ?? `the server answered ${status}`)
}
