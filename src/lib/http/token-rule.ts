import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { httpFault } from './faults.ts'

/** Demands `Authorization: Bearer <token>`; compared in constant time whatever was sent. */
export function createTokenRule(token: string): (request: IncomingMessage) => void {
  const expected = digest(token)
  return (request) => {
    const sent = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? ''
    if (!timingSafeEqual(digest(sent), expected)) {
      throw httpFault('UNAUTHORIZED', 'this server wants its token: send "Authorization: Bearer <token>"')
    }
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
