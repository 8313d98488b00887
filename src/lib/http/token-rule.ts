import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { httpFault } from './faults.ts'

const NAME_DIGITS = 8

/** Returns whether a request has a valid token. */
export type TokenTest = (request: IncomingMessage) => boolean

const names = new WeakMap<IncomingMessage, string>()

/** Returns the start of a digest that identifies the request's token; undefined if none was required. */
export function tokenNameOf(request: IncomingMessage): string | undefined {
  return names.get(request)
}

/** Requires `Authorization: Bearer <token>`, or another header with only the token; always compared in constant time. */
export function createTokenRule(
  token: string | TokenTest,
  header?: string,
): (request: IncomingMessage) => void {
  const isRight = createTokenTest(token, header)
  const wanted = header === undefined ? 'Authorization: Bearer <token>' : `${header}: <token>`
  return (request) => {
    if (!isRight(request)) throw httpFault('UNAUTHORIZED', `this server requires its token: send "${wanted}"`)
  }
}

/** Returns a test for requests with the token required by `createTokenRule`; a given test as it is. */
export function createTokenTest(token: string | TokenTest, header?: string): TokenTest {
  if (typeof token !== 'string') return token
  const isToken = createSecretTest(token)
  const name = digest(`name:${token}`).toString('hex').slice(0, NAME_DIGITS)
  return (request) => {
    const { headers } = request
    const sent = header === undefined ? bearerOf(headers.authorization) : headers[header]
    const isRight = isToken(sent)
    if (isRight && header === undefined) names.set(request, name)
    return isRight
  }
}

/** Returns a test for texts that equal a secret, in constant time. */
export function createSecretTest(secret: string): (sent: string | readonly string[] | undefined) => boolean {
  const expected = digest(secret)
  return (sent) => timingSafeEqual(digest(String(sent ?? '')), expected)
}

/** Returns the token of an `Authorization` header; undefined if it has none. */
export function bearerOf(authorization = ''): string | undefined {
  return /^Bearer (.+)$/i.exec(authorization)?.[1]
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
