import { Duplex } from 'node:stream'
import { expect, test } from 'vitest'
import { expectsTls } from '../../../../src/lib/http/proxy/expects-tls.ts'
import type { UpstreamFailure } from '../../../../src/lib/http/proxy/forward.ts'

/** A failure as Node's HTTP parser reports it about bytes. */
const unread = (bytes: string): UpstreamFailure => ({
  is: 'invalid',
  message: 'the response is not valid HTTP',
  cause: { code: 'HPE_INVALID_CONSTANT', rawPacket: Buffer.from(bytes, 'latin1') },
})
const ALERT = '\x15\x03\x01\x00\x02\x02\x46'

test.each([
  { what: 'an alert', failure: unread(ALERT), expected: true },
  { what: 'a response of another protocol', failure: unread('SSH-2.0-test\r\n'), expected: false },
  { what: 'an invalid header', failure: unread('HTTP/1.1 200 OK\r\nX: a\rb\r\n\r\n'), expected: false },
  { what: 'a response that is refused', failure: { is: 'invalid', message: 'x' } as const, expected: false },
  { what: 'no response in time', failure: { is: 'silent', message: 'x' } as const, expected: false },
  {
    what: 'a port on which nothing listens',
    failure: { is: 'broken', message: 'x', cause: { code: 'ECONNREFUSED' } } as const,
    expected: false,
  },
])('$what needs no further connection', async ({ failure, expected }) => {
  const connect = () => expect.unreachable()
  expect(await expectsTls(failure, connect)).toBe(expected)
})

test('after a connection without a response, a further one finds out', async () => {
  const failure: UpstreamFailure = { is: 'broken', message: 'x', cause: { code: 'ECONNRESET' } }
  const answering = (bytes: string) => () => {
    const connection = new Duplex({
      read: () => undefined,
      write: (_chunk, _encoding, done) => done(),
    })
    connection.push(Buffer.from(bytes, 'latin1'))
    return connection
  }
  expect(await expectsTls(failure, answering(ALERT))).toBe(true)
  expect(await expectsTls(failure, answering('HTTP/1.1 400 Bad Request\r\n\r\n'))).toBe(false)
  expect(await expectsTls(failure, () => Promise.reject(new Error('no connection')))).toBe(false)
})
