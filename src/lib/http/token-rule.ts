import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { httpFault } from './faults.ts'

/** Demands `Authorization: Bearer <token>`, or another header that holds the token alone; compared in constant time whatever was sent. */
export function createTokenRule(token: string, header?: string): (request: IncomingMessage) => void {
  const expected = digest(token)
  const wanted = header === undefined ? 'Authorization: Bearer <token>' : `${header}: <token>`
  return ({ headers }) => {
    const sent = header === undefined ? bearerOf(headers.authorization) : headers[header]
    if (!timingSafeEqual(digest(String(sent ?? '')), expected))
      throw httpFault('UNAUTHORIZED', `this server wants its token: send "${wanted}"`)
  }
}

function bearerOf(authorization = ''): string | undefined {
  return /^Bearer (.+)$/i.exec(authorization)?.[1]
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
