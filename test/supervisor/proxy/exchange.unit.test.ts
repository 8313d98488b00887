import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { Exchange } from '../../../src/supervisor/proxy/exchange.ts'

// Newer versions of Node refuse such a request themselves.
test('a request of which Node may have dropped headers counts as not stored whole', () => {
  const lostOf = (headers: number) => {
    const rawHeaders = Array.from({ length: headers }, () => ['a', '']).flat()
    const request = {
      headers: {},
      rawHeaders,
      rawTrailers: [],
      complete: true,
      readableLength: 0,
      socket: {},
    }
    return new Exchange(request as unknown as IncomingMessage, 'web').finished(400).lost
  }
  expect(lostOf(999)).toBe(undefined)
  expect(lostOf(1_000)).toBe('it had 1,000 headers or more')
})
