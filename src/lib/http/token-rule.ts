import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { httpFault } from './faults.ts'

const NAME_DIGITS = 8
const names = new WeakMap<IncomingMessage, string>()

/** Which token let a request in: the beginning of a digest, by which tokens are told apart; undefined where none was demanded. */
export function tokenNameOf(request: IncomingMessage): string | undefined {
  return names.get(request)
}

/** Demands `Authorization: Bearer <token>`, or another header that holds the token alone; compared in constant time whatever was sent. */
export function createTokenRule(token: string, header?: string): (request: IncomingMessage) => void {
  const isRight = createTokenTest(token, header)
  const wanted = header === undefined ? 'Authorization: Bearer <token>' : `${header}: <token>`
  return (request) => {
    if (!isRight(request)) throw httpFault('UNAUTHORIZED', `this server wants its token: send "${wanted}"`)
  }
}

/** Whether a request carries the token, as `createTokenRule` demands it. */
export function createTokenTest(token: string, header?: string): (request: IncomingMessage) => boolean {
  const expected = digest(token)
  const name = digest(`name:${token}`).toString('hex').slice(0, NAME_DIGITS)
  return (request) => {
    const { headers } = request
    const sent = header === undefined ? bearerOf(headers.authorization) : headers[header]
    const isRight = timingSafeEqual(digest(String(sent ?? '')), expected)
    if (isRight && header === undefined) names.set(request, name)
    return isRight
  }
}

function bearerOf(authorization = ''): string | undefined {
  return /^Bearer (.+)$/i.exec(authorization)?.[1]
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
