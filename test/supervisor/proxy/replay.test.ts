import { createServer, type IncomingMessage, type Server } from 'node:http'
import { once } from 'node:events'
import { connect, type AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { startSupervisor } from '../../support/supervisor/supervisor.ts'
import { waitFor } from '../../support/wait-for.ts'

interface Received {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** Runs a server that records its requests as the process `web`; it does not read the bodies of `/early`. */
async function startRecorder() {
  const received: Received[] = []
  const server: Server = createServer({ maxHeaderSize: 100_000 }, (request, response) => {
    const record = async (): Promise<void> => {
      const { method, url, headers } = request
      const body = url === '/early' ? '' : (await buffer(request)).toString('latin1')
      received.push({ method, url, headers, body })
      response.end('ok')
    }
    void record()
  }).listen(0, '127.0.0.1')
  server.on('upgrade', (_request, socket) =>
    socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'),
  )
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const { running, ask } = await startSupervisor(
    { web: { cmd: 'exec sleep 1000', proxy: { port } } },
    { proxy: { enabled: true, port: 0 } },
  )
  const proxyPort = running.proxyPort ?? 0
  const isStored = (id: number) => async () => (await ask('/proxy/requests')).body.total_count === id
  return {
    received,
    ask,
    proxyPort,
    /** Sends a request, the only one of its connection, and waits until it is stored under this id. */
    send: async (request: string, id: number): Promise<void> => {
      const client = connect(proxyPort, '127.0.0.1')
      client.write(request, 'latin1')
      await buffer(client)
      await waitFor('the stored request', isStored(id))
    },
    isStored,
    replay: (id: number) => ask(`/proxy/requests/${id}/replay`, 'POST'),
  }
}

const HEAD = 'Host: web.localhost\r\nConnection: close\r\n'

test.each([
  // With the headers, 63 KiB.
  ['a URL of 64,480 characters', `GET /r?q=${'a'.repeat(64_469)}&end=1 HTTP/1.1\r\n${HEAD}\r\n`],
  ['a header of 60,000 bytes', `GET / HTTP/1.1\r\n${HEAD}X-Large: ${'a\xe9'.repeat(30_000)}\r\n\r\n`],
  ['repeated headers', `DELETE / HTTP/1.1\r\n${HEAD}X-A: 1\r\nX-A: 2\r\n\r\n`],
  ['an unusual URL', `GET //%e9/../?a=%zz&b="<>{}| HTTP/1.1\r\n${HEAD}\r\n`],
  ['a body of 64 KiB', `PUT / HTTP/1.1\r\n${HEAD}Content-Length: 65536\r\n\r\n${'\xff\x00'.repeat(32_768)}`],
  ['no body', `POST / HTTP/1.1\r\n${HEAD}Content-Length: 0\r\n\r\n`],
])('a replay of a request with %s is the same request', async (_what, request) => {
  const { received, send, replay } = await startRecorder()
  await send(request, 1)
  expect(await replay(1)).toMatchObject({ status: 200, body: { status_code: 200 } })
  expect(received).toHaveLength(2)
  expect(received[1]).toEqual(received[0])
})

test('a replay of a replay names the request that it repeats', async () => {
  const { ask, send, isStored, replay } = await startRecorder()
  await send(`GET / HTTP/1.1\r\n${HEAD}\r\n`, 1)
  for (const id of [1, 2]) {
    await replay(id)
    await waitFor('the replay', isStored(id + 1))
  }
  expect((await ask('/proxy/requests/3')).body.request.replay_of).toBe('2')
})

test.each([
  [
    'a body over 64 KiB',
    `POST / HTTP/1.1\r\n${HEAD}Content-Length: 65537\r\n\r\n${'a'.repeat(65_537)}`,
    'its body exceeded 64 KiB',
  ],
  // To which a replay could not add its headers.
  [
    'a URL and headers over 63 KiB',
    `GET /${'a'.repeat(64_480)} HTTP/1.1\r\n${HEAD}\r\n`,
    'its URL and headers exceeded 63 KiB',
  ],
  [
    'a URL and headers of 64 KiB',
    `GET / HTTP/1.1\r\n${HEAD}X-Large: ${'a'.repeat(65_495)}\r\n\r\n`,
    'its URL and headers exceeded 63 KiB',
  ],
  [
    'a body that the process did not wait for',
    `POST /early HTTP/1.1\r\n${HEAD}Content-Length: 10\r\n\r\nhalf`,
    'its body was not received completely',
  ],
  [
    'trailers',
    `POST / HTTP/1.1\r\n${HEAD}Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-Sum: 1\r\n\r\n`,
    'it had trailers',
  ],
  [
    'an upgrade',
    'GET / HTTP/1.1\r\nHost: web.localhost\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n',
    'it was an upgrade',
  ],
])('a request with %s is not replayed in part', async (_what, request, why) => {
  const { received, send, replay } = await startRecorder()
  await send(request, 1)
  const before = received.length
  expect(await replay(1)).toMatchObject({
    status: 409,
    body: {
      code: 'BODY_NOT_KEPT',
      error: `request 1 cannot be sent again: ${why}, and was not stored whole`,
    },
  })
  expect(received).toHaveLength(before)
})

test('a request whose client left within its body is not replayed in part', async () => {
  const { proxyPort, isStored, replay } = await startRecorder()
  const client = connect(proxyPort, '127.0.0.1')
  client.write(`POST / HTTP/1.1\r\n${HEAD}Content-Length: 10\r\n\r\nhalf`, () => client.destroy())
  await waitFor('the stored request', isStored(1))
  expect(await replay(1)).toMatchObject({ status: 409, body: { code: 'BODY_NOT_KEPT' } })
})

test('a list shows the beginning of a long URL, and that it was cut', async () => {
  const { ask, send } = await startRecorder()
  await send(`GET /${'a'.repeat(3_000)} HTTP/1.1\r\n${HEAD}\r\n`, 1)
  expect((await ask('/proxy/requests')).body.requests).toMatchObject([{ url: `/${'a'.repeat(2_047)}…` }])
})
