import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { FollowedFiles } from '../fs/followed-files.ts'
import { httpFault } from './faults.ts'

const NAME_DIGITS = 8

/** Returns whether a request has a valid token. */
export type TokenTest = (request: IncomingMessage) => boolean

/** A secret text, which may be replaced at any time. */
export interface Secret {
  readonly text: string
}

const names = new WeakMap<IncomingMessage, string>()

/** Returns the start of a digest that identifies the request's token; undefined if none was required. */
export function tokenNameOf(request: IncomingMessage): string | undefined {
  return names.get(request)
}

/** Requires `Authorization: Bearer <token>`, or another header with only the token; always compared in constant time. */
export function createTokenRule(
  token: string | Secret | TokenTest,
  header?: string,
): (request: IncomingMessage) => void {
  const isRight = createTokenTest(token, header)
  return (request) => {
    if (!isRight(request)) throw tokenFault(request, header)
  }
}

/** Returns the error for a request without a token, or with one that is not valid. @param header as for `createTokenRule` */
export function tokenFault({ headers }: IncomingMessage, header?: string) {
  const name = header ?? 'authorization'
  const wanted = header === undefined ? 'Authorization: Bearer <token>' : `${header}: <token>`
  return httpFault(
    'UNAUTHORIZED',
    headers[name] === undefined
      ? `this server requires its token: send "${wanted}"`
      : `the token in the header "${name}" is not valid on this server: it may have expired, or have been revoked or replaced`,
  )
}

/** Returns a test for requests with the token required by `createTokenRule`; a given test as it is. */
export function createTokenTest(token: string | Secret | TokenTest, header?: string): TokenTest {
  if (typeof token === 'function') return token
  const isToken = createSecretTest(token)
  const nameOf = remembered(secretOf(token), (text) =>
    digest(`name:${text}`).toString('hex').slice(0, NAME_DIGITS),
  )
  return (request) => {
    const { headers } = request
    const sent = header === undefined ? bearerOf(headers.authorization) : headers[header]
    const isRight = isToken(sent)
    if (isRight && header === undefined) names.set(request, nameOf())
    return isRight
  }
}

/** Returns a test for texts that equal a secret, in constant time. */
export function createSecretTest(
  secret: string | Secret,
): (sent: string | readonly string[] | undefined) => boolean {
  const expected = remembered(secretOf(secret), digest)
  return (sent) => sent !== undefined && timingSafeEqual(digest(String(sent)), expected())
}

/** Returns a function of the secret's current text, which is computed again only when that changes. */
export function remembered<T>(secret: Secret, compute: (text: string) => T): () => T {
  let last = { text: secret.text, value: compute(secret.text) }
  return () => {
    if (secret.text !== last.text) last = { text: secret.text, value: compute(secret.text) }
    return last.value
  }
}

/** Returns the secret in a file that may be replaced. */
export function followedSecret(file: FollowedFiles<string>): Secret {
  return {
    get text() {
      return file.value
    },
  }
}

function secretOf(secret: string | Secret): Secret {
  return typeof secret === 'string' ? { text: secret } : secret
}

/** Returns the token of an `Authorization` header; undefined if it has none. */
export function bearerOf(authorization = ''): string | undefined {
  return /^Bearer (.+)$/i.exec(authorization)?.[1]
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
