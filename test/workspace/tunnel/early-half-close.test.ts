import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server } from 'node:net'
import type { Duplex } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'
import {
  makeWorkspace,
  startWorkspaceServer,
  type TestServer,
} from '../../support/workspace/server/test-server.ts'

/** A backend that reaches a port only when the test permits it. */
class SlowBackend extends FakeBackend {
  gate: Promise<void> = Promise.resolve()
  override async dial(name: string, port: number): Promise<Duplex> {
    await this.gate
    return super.dial(name, port)
  }
}

describe('a tunnel whose client ends its half early', () => {
  const backend = new SlowBackend()
  let server: TestServer
  let inside: Server
  let echoPort: number
  beforeAll(async () => {
    inside = createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket))
    inside.listen(0, '127.0.0.1')
    await once(inside, 'listening')
    echoPort = (inside.address() as AddressInfo).port
    server = await startWorkspaceServer({ backends: () => [backend] })
    await makeWorkspace(server.url, { name: 'demo' })
  })
  afterAll(async () => {
    inside.close()
    await server.stop()
  })

  /** Resolves when the server has read everything sent before: it answers two requests in the meantime. */
  const settled = async () => {
    await server.api('info')
    await server.api('info')
  }
  const request = (port = echoPort) =>
    Buffer.from(
      `GET /api/workspaces/demo/connect/${port} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: workspace-tcp\r\n\r\n`,
    )
  /**
   * Sends the pieces, each read before the next is sent, then ends the client's half; resolves with the
   * response body.
   */
  const send = async (pieces: readonly Buffer[], isEndApart: boolean) => {
    const opened = Promise.withResolvers<void>()
    backend.gate = opened.promise
    const client = connect({ port: server.httpPort, host: '127.0.0.1', allowHalfOpen: true }).setNoDelay()
    const answer = buffer(client)
    for (const [index, piece] of pieces.entries()) {
      const isLast = index === pieces.length - 1
      if (isLast && !isEndApart) client.end(piece)
      else client.write(piece)
      await settled()
    }
    if (isEndApart) {
      client.end()
      await settled()
    }
    opened.resolve()
    const all = await answer
    const headEnd = all.indexOf('\r\n\r\n') + 4
    return { head: all.subarray(0, headEnd).toString(), body: all.subarray(headEnd) }
  }

  for (const isEndApart of [false, true]) {
    const end = isEndApart ? 'right behind' : 'with the last bytes'
    const tags = isEndApart ? ['long'] : []
    test(
      `gets all of its bytes back at every split of request and payload, its end ${end}`,
      { tags },
      async () => {
        const payload = Buffer.from('hello')
        const all = Buffer.concat([request(), payload])
        for (let split = 1; split <= all.length; split += 1) {
          const pieces = [all.subarray(0, split), all.subarray(split)].filter(({ length }) => length > 0)
          const { head, body } = await send(pieces, isEndApart)
          expect(head).toMatch(/^HTTP\/1.1 101 /)
          expect(body.toString(), `split at ${split} of ${all.length}`).toBe('hello')
        }
      },
    )
  }

  test.each([0, 1, 1_000, 16_384, 65_000, 66_000, 300_000])('receives %d bytes', async (length) => {
    const payload = randomBytes(length)
    for (const pieces of [[Buffer.concat([request(), payload])], [request(), payload]]) {
      const { body } = await send(pieces, false)
      expect(body.equals(payload)).toBe(true)
    }
  })

  test('gets a response and is closed when its request is refused', async () => {
    const { head, body } = await send([Buffer.concat([request(0), Buffer.from('hello')])], false)
    expect(head).toMatch(/^HTTP\/1.1 400 /)
    expect(JSON.parse(body.toString()).error.code).toBe('INVALID_PORT')
  })
})
