import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { startProxyFront } from '../../../support/http/proxy-front.ts'
import { sendRaw, statusOf } from '../../../support/http/raw-http.ts'
import { startRawUpstream } from '../../../support/http/raw-upstream.ts'
import { waitFor } from '../../../support/wait-for.ts'

const GET = 'GET / HTTP/1.1\r\nHost: web\r\nConnection: close\r\n\r\n'
const OK = 'HTTP/1.1 200 OK\r\n'

/** Returns what a client receives when the upstream sends these bytes and closes its connection. */
async function answerTo(request: string, bytes: string): Promise<string> {
  const { port } = await startRawUpstream((socket) => socket.end(bytes, 'latin1'))
  return sendRaw((await startProxyFront(port)).port, request)
}

test.each([
  [
    'an unrequested switch of protocols',
    'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n',
  ],
  ['a switch without a protocol', 'HTTP/1.1 101 Switching Protocols\r\n\r\n'],
  ['nothing', ''],
  ['invalid HTTP', 'nonsense\r\n\r\n'],
  ['two framings', `${OK}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n`],
  ['two lengths', `${OK}Content-Length: 1\r\nContent-Length: 2\r\n\r\naa`],
  ['a coding in a coding', `${OK}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
  ['chunks in HTTP/1.0', 'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
  ['a folded header', `${OK}X: a\r\n b\r\n\r\n`],
  ['a status below 200', 'HTTP/1.1 099 Low\r\nContent-Length: 0\r\n\r\n'],
  ['endless interim responses', 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(1_000)],
  ['66 KiB of headers', `${OK}x: ${'a'.repeat(67_000)}\r\nContent-Length: 3\r\n\r\nabc`],
])('an upstream that responds with %s causes 502', async (_what, bytes) => {
  const answer = await answerTo(GET, bytes)
  expect(answer.match(/^HTTP\/1\.1 \d+/gm)?.filter((line) => !line.includes('103'))).toEqual(['HTTP/1.1 502'])
})

test.each([
  ['one header of 60 KiB', `x: ${'a'.repeat(61_000)}\r\n`],
  ['60 cookies of 1 KiB', `set-cookie: ${'a'.repeat(1_000)}\r\n`.repeat(60)],
  ['5,000 short headers', Array.from({ length: 5_000 }, (_, at) => `x-${at}: v\r\n`).join('')],
])('a response with %s is forwarded whole', async (_what, headers) => {
  const { port } = await startRawUpstream((socket) =>
    socket.end(`${OK}${headers}Content-Length: 3\r\n\r\nabc`),
  )
  const answer = await sendRaw((await startProxyFront(port)).port, GET)
  expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\nabc$/)
  expect(answer).toContain(headers)
})

test.each([
  [
    'more than 64 KiB of headers',
    `${OK}x: ${'a'.repeat(67_000)}\r\n\r\n`,
    "the response's headers exceed 64 KiB",
  ],
  ['invalid HTTP', 'nonsense\r\n\r\n', 'the response is not valid HTTP (Parse Error: Expected HTTP/'],
])('an error names the reason why a response with %s is not forwarded', async (_what, bytes, reason) => {
  const { port } = await startRawUpstream((socket) => socket.end(bytes))
  const front = await startProxyFront(port)
  await sendRaw(front.port, GET)
  expect(front.failures).toMatchObject([{ is: 'invalid', message: expect.stringContaining(reason) }])
})

test('the connection of an upstream that switches protocols unasked is closed', async () => {
  let hasEnded = false
  const { port } = await startRawUpstream((socket) => {
    socket.once('close', () => (hasEnded = true))
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  })
  expect(statusOf(await sendRaw((await startProxyFront(port)).port, GET))).toBe(502)
  await waitFor('the end', () => hasEnded)
})

test('an upgrade returns the requested protocol, or 502', async () => {
  const { port } = await startRawUpstream((socket) =>
    socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: WebSocket\r\n\r\nhello',
    ),
  )
  const front = await startProxyFront(port)
  const ask = (protocol: string) =>
    sendRaw(
      front.port,
      `GET / HTTP/1.1\r\nHost: web\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`,
      300,
    )
  expect(await ask('websocket')).toMatch(/^HTTP\/1\.1 101 [^]*\r\nUpgrade: WebSocket\r\n\r\nhello$/)
  expect(statusOf(await ask('other'))).toBe(502)
})

test('the response to a refused upgrade is complete at any length', async () => {
  const body = 'x'.repeat(2_000_000)
  const answer = await answerTo(
    'GET / HTTP/1.1\r\nHost: web\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    `HTTP/1.1 403 No\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  expect(answer).toMatch(/^HTTP\/1\.1 403 No\r\n/)
  expect(answer.endsWith(`\r\n\r\n${body}`)).toBe(true)
})

test('F33 an interrupted response to an upgrade does not look complete', async () => {
  const { port } = await startRawUpstream((socket) => {
    socket.write('HTTP/1.1 403 No\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n', () =>
      socket.resetAndDestroy(),
    )
  })
  const answer = await sendRaw(
    (await startProxyFront(port)).port,
    'GET / HTTP/1.1\r\nHost: web\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
  )
  expect(answer).not.toContain('0\r\n\r\n')
})

test('F33 a response delimited by its connection does not look complete after a reset', async () => {
  const { port } = await startRawUpstream((socket) => {
    socket.write(`${OK}\r\nhalf`, () => setTimeout(() => socket.resetAndDestroy(), 50))
  })
  const front = await startProxyFront(port)
  expect(await sendRaw(front.port, GET)).not.toContain('0\r\n\r\n')
  const old = connect(front.port, '127.0.0.1')
  old.write('GET / HTTP/1.0\r\nHost: web\r\n\r\n')
  await expect(text(old)).rejects.toThrow('ECONNRESET')
})

test('F33 a response interrupted before its turn closes the connection in its turn', async () => {
  const upstream = await startRawUpstream((socket, received) => {
    if (received.includes('/slow')) setTimeout(() => socket.end(`${OK}Content-Length: 4\r\n\r\nslow`), 200)
    else socket.write(`${OK}Content-Length: 50\r\n\r\nhalf`, () => socket.resetAndDestroy())
  })
  const { port } = await startProxyFront(upstream.port)
  const client = connect(port, '127.0.0.1')
  client.write('GET /slow HTTP/1.1\r\nHost: web\r\n\r\nGET /cut HTTP/1.1\r\nHost: web\r\n\r\n')
  expect(await text(client)).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\nslow(?!.*half)/)
})

test('a response without a body is not framed', async () => {
  const answer = await answerTo(GET, 'HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello')
  expect(answer).toMatch(/^HTTP\/1\.1 204 /)
  expect(answer).not.toMatch(/content-length|transfer-encoding|hello/i)
})

test('early hints and trailers are forwarded', async () => {
  const hint = 'HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\nSet-Cookie: a=b\r\n\r\n'
  const body = `Trailer: X-Sum, Set-Cookie\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-Sum: 1\r\nSet-Cookie: a=b\r\n\r\n`
  const answer = await answerTo(GET, hint + OK + body)
  expect(answer).toMatch(
    /^HTTP\/1\.1 103 Early Hints\r\nLink: <\/a\.css>; rel=preload\r\n\r\nHTTP\/1\.1 200 OK\r\n/,
  )
  expect(answer).toContain('Trailer: x-sum\r\n')
  expect(answer.endsWith('\r\n\r\n1\r\na\r\n0\r\nX-Sum: 1\r\n\r\n')).toBe(true)
  expect(answer).not.toContain('a=b')
  expect(await answerTo('GET / HTTP/1.0\r\nHost: web\r\n\r\n', hint + OK + body)).toMatch(
    /^HTTP\/1\.1 200 [^]*\r\n\r\na$/,
  )
})

test('an upstream connection with an incomplete request is not reused', async () => {
  const upstream = await startRawUpstream((socket, received) => {
    if (received.includes('\r\n\r\n')) socket.write(`${OK}Content-Length: 2\r\n\r\nok`)
  })
  const front = await startProxyFront(upstream.port)
  const upload = connect(front.port, '127.0.0.1')
  upload.write('POST /upload HTTP/1.1\r\nHost: web\r\nContent-Length: 100\r\n\r\nhalf')
  const early = text(upload)
  expect(await early).toMatch(/^HTTP\/1\.1 200 [^]*\r\nConnection: close\r\n[^]*ok$/)
  expect(await sendRaw(front.port, GET)).toMatch(/ok$/)
  expect(upstream.received).toHaveLength(2)
  expect(upstream.received[0]).toMatch(/half$/)
})

test('a client gets the response even if its body is refused', async () => {
  const { port } = await startRawUpstream((socket) => socket.destroy())
  const client = connect((await startProxyFront(port)).port, '127.0.0.1')
  client.write('POST / HTTP/1.1\r\nHost: web\r\nContent-Length: 100\r\n\r\nhalf')
  expect(statusOf(await text(client))).toBe(502)
})

test('a GET on a connection that the upstream has just closed is retried on a new one; a POST is not', async () => {
  let answers = 0
  const upstream = await startRawUpstream((socket, received) => {
    const requests = received.split('\r\n\r\n').length - 1
    if (requests > 1) return socket.destroy()
    answers++
    return socket.write(`${OK}Content-Length: 2\r\n\r\nok`)
  })
  const front = await startProxyFront(upstream.port)
  expect(statusOf(await sendRaw(front.port, GET))).toBe(200)
  expect(statusOf(await sendRaw(front.port, GET))).toBe(200)
  expect(answers).toBe(2)
  expect(statusOf(await sendRaw(front.port, GET))).toBe(200)
  expect(statusOf(await sendRaw(front.port, GET.replace('GET', 'POST')))).toBe(502)
})

test('a GET is retried if the closed connection is noticed by its write', async () => {
  const upstream = await startRawUpstream((socket, received) => {
    if (received.split('GET').length > 2) return breakConnections()
    return socket.write(`${OK}Content-Length: 2\r\n\r\nok`)
  })
  const front = await startProxyFront(upstream.port)
  const broken = Object.assign(new Error('write EPIPE'), { code: 'EPIPE', syscall: 'write' })
  const breakConnections = (): void => {
    for (const sockets of Object.values(front.agent.sockets))
      for (const socket of sockets ?? []) socket.destroy(broken)
  }
  for (let count = 1; count <= 2; count++) expect(statusOf(await sendRaw(front.port, GET))).toBe(200)
  expect(upstream.received).toHaveLength(2)
})

test('a silent upstream causes 504, however long the request body takes', async () => {
  const { port } = await startRawUpstream(() => undefined)
  const front = await startProxyFront(port, 200)
  expect(statusOf(await sendRaw(front.port, GET))).toBe(504)
  expect(front.failures).toMatchObject([{ is: 'silent' }])
})
