import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { httpFault } from './faults.ts'

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
  return ({ headers }) => {
    const sent = header === undefined ? bearerOf(headers.authorization) : headers[header]
    return timingSafeEqual(digest(String(sent ?? '')), expected)
  }
}

function bearerOf(authorization = ''): string | undefined {
  return /^Bearer (.+)$/i.exec(authorization)?.[1]
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
