import { expect, test } from 'vitest'
import { startProxyFront } from '../../../support/http/proxy-front.ts'
import { sendRaw, statusOf } from '../../../support/http/raw-http.ts'
import { startRawUpstream } from '../../../support/http/raw-upstream.ts'

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND']
const SMUGGLED = 'GET /smuggled HTTP/1.1\r\nHost: evil\r\n\r\n'
const FRAMINGS = {
  none: '\r\n',
  length: `Content-Length: ${SMUGGLED.length}\r\n\r\n${SMUGGLED}`,
  chunked: `Transfer-Encoding: chunked\r\n\r\n${SMUGGLED.length.toString(16)}\r\n${SMUGGLED}\r\n0\r\n\r\n`,
}
const REFUSED = ['content-length', 'transfer-encoding', 'host', 'trailer']
const KEPT = ['authorization', 'cookie', 'via', 'x-forwarded-for', 'content-type', 'x-own', 'te', 'close']

/**
 * Starts an upstream that closes each connection after its response, so that all it received is one request or more.
 */
async function startOnce() {
  const upstream = await startRawUpstream((socket, received) => {
    if (isWhole(received))
      socket.end('HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\nX-Seen: 1\r\n\r\n')
  })
  const { port } = await startProxyFront(upstream.port)
  return { port, received: upstream.received }
}

function isWhole(received: string): boolean {
  const [head = '', body] = received.split(/\r\n\r\n([^]*)/)
  if (body === undefined) return false
  if (/^transfer-encoding: chunked$/im.test(head))
    return body.endsWith('\r\n0\r\n\r\n') || body === '0\r\n\r\n'
  return body.length >= Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0)
}

/** Returns the body of the only request in these bytes; fails if there are more. */
function bodyOf(bytes: string): string {
  const end = bytes.indexOf('\r\n\r\n') + 4
  const [head, body] = [bytes.slice(0, end), bytes.slice(end)]
  if (!/^transfer-encoding: chunked\r$/im.test(head)) {
    expect(body).toHaveLength(Number(/^content-length: (\d+)\r$/im.exec(head)?.[1] ?? 0))
    return body
  }
  const whole = /^([0-9a-f]+)\r\n([^]*)\r\n0\r\n\r\n$/i.exec(body)
  expect(whole?.[2]).toHaveLength(Number.parseInt(whole?.[1] ?? '', 16))
  return whole?.[2] ?? ''
}

test.each(METHODS)(
  'H6 V5 %s: for any Connection header, the upstream sees one request or none',
  async (method) => {
    const { port, received } = await startOnce()
    for (const [framing, rest] of Object.entries(FRAMINGS))
      for (const option of [...REFUSED, ...KEPT]) {
        const what = `${framing}, Connection: ${option}`
        const before = received.length
        const head = `${method} /a HTTP/1.1\r\nHost: web\r\nConnection: ${option}, close\r\nX-Own: 1\r\n${rest}`
        const status = statusOf(await sendRaw(port, head))
        if (REFUSED.includes(option)) {
          expect(status, what).toBe(400)
          expect(received.length, what).toBe(before)
          continue
        }
        expect(status, what).toBe(200)
        expect(received.length, what).toBe(before + 1)
        const seen = received.at(-1) ?? ''
        expect(seen, what).toMatch(new RegExp(`^${method} /a HTTP/1\\.1\\r\\n`))
        expect(seen, what).toContain('X-Own: 1\r\n')
        expect(bodyOf(seen), what).toBe(framing === 'none' ? '' : SMUGGLED)
      }
  },
)

test.each([
  'POST / HTTP/1.0\r\nHost: web\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'POST / HTTP/1.1\r\nHost: web\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
  'POST / HTTP/1.1\r\nHost: web\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'POST / HTTP/1.1\r\nHost: web\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n',
  'GET / HTTP/1.1\r\nHost: web\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 3\r\n\r\nabc',
  'GET / HTTP/1.1\r\nHost: web\r\nConnection: Upgrade\r\nUpgrade: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'GET / HTTP/2.0\r\nHost: web\r\n\r\n',
  'GET /#a HTTP/1.1\r\nHost: web\r\n\r\n',
  'GET http://other/ HTTP/1.1\r\nHost: web\r\n\r\n',
  'GET * HTTP/1.1\r\nHost: web\r\n\r\n',
])('H6 %j is not forwarded', async (request) => {
  const { port, received } = await startOnce()
  expect(statusOf(await sendRaw(port, request))).toBe(400)
  expect(received).toEqual([])
})

test('H6 a request is not forwarded if Node drops some of its headers', async () => {
  const { port, received } = await startOnce()
  const many = 'a:\r\n'.repeat(1_000)
  const status = statusOf(
    await sendRaw(port, `GET / HTTP/1.1\r\nHost: web\r\n${many}Content-Length: 3\r\n\r\nabc`),
  )
  // 431 if Node itself counts headers.
  expect([400, 431]).toContain(status)
  expect(received).toEqual([])
})

test('a target in absolute form is forwarded as a path', async () => {
  const { port, received } = await startOnce()
  await sendRaw(port, 'GET http://WEB/a?b HTTP/1.1\r\nHost: web\r\nConnection: close\r\n\r\n')
  await sendRaw(port, 'OPTIONS http://web HTTP/1.1\r\nHost: web\r\nConnection: close\r\n\r\n')
  expect(received.map((each) => each.split('\r\n')[0])).toEqual(['GET /a?b HTTP/1.1', 'OPTIONS * HTTP/1.1'])
})

test('trailers are forwarded, except those that a server reads before the body', async () => {
  const { port, received } = await startOnce()
  const trailers = 'X-Sum: 1\r\nHost: evil\r\nAuthorization: evil\r\nX_Forwarded_For: evil\r\n'
  await sendRaw(
    port,
    `GET / HTTP/1.1\r\nHost: web\r\nConnection: close\r\nTrailer: X-Sum, Host\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n${trailers}\r\n`,
    500,
  )
  expect(received[0]).toContain('Trailer: x-sum\r\n')
  expect(received[0]?.slice(received[0].indexOf('\r\n\r\n'))).toBe('\r\n\r\n1\r\na\r\n0\r\nX-Sum: 1\r\n\r\n')
})

test('an invalid trailer does not crash the proxy', async () => {
  const { port } = await startOnce()
  const head = 'POST / HTTP/1.1\r\nHost: web\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n'
  for (const byte of ['\x01', '\x0b', '\x7f']) await sendRaw(port, `${head}X-Sum: ${byte}\r\n\r\n`, 200)
  expect(statusOf(await sendRaw(port, 'GET / HTTP/1.1\r\nHost: web\r\nConnection: close\r\n\r\n'))).toBe(200)
})

test('the proxy answers 100-continue itself and requests the body', async () => {
  const { port, received } = await startOnce()
  const answer = await sendRaw(
    port,
    'PUT / HTTP/1.1\r\nHost: web\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc',
  )
  expect(answer).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n/)
  expect(received[0]).not.toContain('Expect')
})

test('H6 an invalid body is answered with 400, after the previous responses', async () => {
  const { port, received } = await startOnce()
  const good = 'GET /good HTTP/1.1\r\nHost: web\r\n\r\n'
  const bad = 'POST /bad HTTP/1.1\r\nHost: web\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\nzz\r\n'
  const answer = await sendRaw(port, good + bad)
  expect(answer.match(/^HTTP\/1\.1 \d+/gm)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 400'])
  const next = await sendRaw(port, `${good}nonsense\r\n\r\n`)
  expect(next.match(/^HTTP\/1\.1 \d+/gm)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 400'])
  expect(received.filter((each) => each.startsWith('POST') && isWhole(each))).toEqual([])
})

test('an upgrade after a pending request is answered in its turn, and aborts nothing', async () => {
  const { port } = await startOnce()
  const plain = 'GET /a HTTP/1.1\r\nHost: web\r\n\r\n'
  const upgrade = 'GET /b HTTP/1.1\r\nHost: web\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
  const answer = await sendRaw(port, plain + upgrade)
  expect(answer.match(/^HTTP\/1\.1 \d+/gm)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200'])
  expect(statusOf(await sendRaw(port, `${plain.slice(0, -2)}Connection: close\r\n\r\n`))).toBe(200)
})

test('V5 no client can bypass the proxy by an upgrade to HTTP', async () => {
  const { port, received } = await startOnce()
  for (const protocol of ['h2c', 'websocket, H2C', 'HTTP/2.0', 'TLS/1.0', ''])
    await sendRaw(port, `GET / HTTP/1.1\r\nHost: web\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`)
  expect(received).toHaveLength(5)
  for (const seen of received) expect(seen).not.toMatch(/^(?:upgrade:|connection: upgrade)/im)
})
