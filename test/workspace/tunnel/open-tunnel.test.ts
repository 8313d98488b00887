import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { createServer, type Socket } from 'node:net'
import { buffer, text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { Backend } from '../../../src/workspace/backend/backend.ts'
import { dockerBackend, uniqueName } from '../../support/engine/docker.ts'
import { describeOn } from '../../support/workspace/backend/describe-on.ts'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'
import { openHttpTunnel } from '../../support/http/http-tunnel.ts'
import { openSsh, runProgram } from '../../support/workspace/ssh/open-ssh.ts'
import { sendRaw, statusOf } from '../../support/http/raw-http.ts'
import { expectError } from '../../support/workspace/server/expect-error.ts'
import { call, startWorkspaceServer, type TestServer } from '../../support/workspace/server/test-server.ts'
import { waitFor } from '../../support/wait-for.ts'

/** Docker workspaces join the host's network here, so that one echo server serves both. */
const KINDS = [
  { kind: 'docker', open: (serverId: string): Backend => dockerBackend({ serverId }) },
  { kind: 'fake', open: (): Backend => new FakeBackend() },
]

describeOn(KINDS, 'a tunnel', ({ open }) => {
  let server: TestServer
  const name = uniqueName('tunnel')
  // Shared by all servers of the test: a restarted one must find its workspace.
  const serverId = randomUUID()
  const url = (port: number | string) => `${server.url}/api/workspaces/${name}/connect/${port}`
  beforeAll(async () => {
    server = await startWorkspaceServer({ backends: () => [open(serverId)] })
    await server.create({ name })
  })
  afterAll(async () => {
    await server.api(`workspaces/${name}`, 'DELETE')
    await server.stop()
  })

  const listen = async (onConnection: (socket: Socket) => void) => {
    const inside = createServer({ allowHalfOpen: true }, (socket) => {
      socket.on('error', () => undefined)
      onConnection(socket)
    })
    await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void inside.close())
    return (inside.address() as { port: number }).port
  }
  const tunnel = async (port: number, options = {}) => {
    const answer = await openHttpTunnel(url(port), options)
    if (answer.stream === undefined) throw new Error(`${answer.status}: ${answer.body}`)
    return answer.stream
  }

  test('W7 bytes pass unchanged, including those sent with the request, and ending one half keeps the other', async () => {
    const port = await listen((socket) => {
      // Responds only after the client has ended its half.
      void buffer(socket).then((all) => socket.end(createHash('sha256').update(all).digest('hex')))
    })
    const early = randomBytes(1_000)
    const data = randomBytes(5 * 2 ** 20)
    const stream = await tunnel(port, { early })
    stream.end(data)
    const expected = createHash('sha256').update(early).update(data).digest('hex')
    expect(await text(stream)).toBe(expected)
  })

  test(
    'W7 twenty concurrent tunnels carry 4 MiB in both directions while others are cut',
    { tags: ['long'] },
    async () => {
      const port = await listen((socket) => socket.pipe(socket))
      const whole = Array.from({ length: 20 }, async () => {
        const data = randomBytes(4 * 2 ** 20)
        const stream = await tunnel(port)
        stream.end(data)
        expect((await buffer(stream)).equals(data)).toBe(true)
      })
      const cut = Array.from({ length: 20 }, async () => {
        const stream = await tunnel(port)
        stream.on('error', () => undefined)
        stream.write(randomBytes(100_000))
        stream.destroy()
      })
      await Promise.all([...whole, ...cut])
    },
  )

  test('W7 an end that vanishes closes the other', async () => {
    const sockets: Socket[] = []
    const port = await listen((socket) => sockets.push(socket))
    const stream = await tunnel(port)
    stream.destroy()
    await expect.poll(() => sockets[0]?.readableEnded === true || sockets[0]?.destroyed === true).toBe(true)
    const other = await tunnel(port)
    other.on('error', () => undefined).resume()
    const closed = new Promise((resolve) => other.once('close', resolve))
    await waitFor('the second', () => sockets.length === 2)
    sockets[1]?.resetAndDestroy()
    await closed
  })

  test.each(['0', '65536', '+80', '080', '8e1', '80a', '-1', '%20', '99999999999', '0x50', '80.0'])(
    'W7 port %s is invalid',
    async (port) => {
      expect(await openHttpTunnel(url(port))).toMatchObject({
        status: 400,
        body: expect.stringContaining('INVALID_PORT'),
      })
    },
  )

  test('W7 every refusal has its status and code', async () => {
    const closed = await listen(() => undefined)
    const refused = async (path: string, status: number, code: string, headers = {}) => {
      const answer = await openHttpTunnel(`${server.url}${path}`, { headers })
      expect(answer).toMatchObject({ status, body: expect.stringContaining(code) })
    }
    const base = `/api/workspaces/${name}/connect`
    await refused(`${base}/1`, 502, 'CONNECT_FAILED')
    await refused('/api/workspaces/nobody/connect/80', 404, 'WORKSPACE_NOT_FOUND')
    await refused('/api/workspaces/-x/connect/80', 400, 'INVALID_WORKSPACE_NAME')
    await refused('/api/workspaces/%zz/connect/80', 400, 'INVALID_REQUEST')
    await refused('/api/info', 400, 'INVALID_REQUEST')
    await refused(`${base}/${closed}`, 400, 'INVALID_REQUEST', { 'content-length': '5' })
    await refused(`${base}/${closed}`, 403, 'FORBIDDEN_HOST', { host: 'evil.example' })
    await refused(`${base}/${closed}`, 403, 'FORBIDDEN_ORIGIN', { origin: 'http://evil.example' })
    expectError(await call(url(closed)), 426, 'INVALID_REQUEST')
  })

  test('an upgrade to another protocol is ignored', async () => {
    const request =
      'GET /api/info HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, close\r\nUpgrade: h2c\r\n\r\n'
    expect(statusOf(await sendRaw(server.httpPort, request))).toBe(200)
  })

  test('a stopped workspace is unavailable', async () => {
    await server.api(`workspaces/${name}/stop`, 'POST')
    expect(await openHttpTunnel(url(80))).toMatchObject({
      status: 503,
      body: expect.stringContaining('WORKSPACE_NOT_RUNNING'),
    })
    await server.api(`workspaces/${name}/start`, 'POST')
  })

  test('stopping the server closes tunnels', async () => {
    const port = await listen((socket) => socket.resume())
    const stream = await tunnel(port)
    stream.on('error', () => undefined).resume()
    server = await server.restart()
    await expect.poll(() => stream.readableEnded || stream.destroyed).toBe(true)
  })
})

test('W8 a denied port is refused for tunnels and forwards, and any other is reachable', async () => {
  const inside = createServer((socket) => socket.on('error', () => undefined).end('hello'))
  await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void inside.close())
  const { port } = inside.address() as { port: number }
  const reach = async (denied: readonly number[]) => {
    const server = await startWorkspaceServer({
      backends: () => [new FakeBackend()],
      settings: { tunnel: { deny_ports: denied } },
    })
    onTestFinished(() => server.stop())
    await server.create({ name: 'dev' })
    const ssh = await openSsh(server)
    onTestFinished(() => ssh.remove())
    const tunnel = await openHttpTunnel(`${server.url}/api/workspaces/dev/connect/${port}`)
    const flags = ['-W', `localhost:${port}`]
    return {
      tunnel: tunnel.stream === undefined ? tunnel.body : await text(tunnel.stream),
      forward: (await runProgram('ssh', ssh.argv('dev', ...flags))).stdout.toString(),
    }
  }
  expect(await reach([498, port])).toEqual({ tunnel: expect.stringContaining('PORT_DENIED'), forward: '' })
  expect(await reach([498])).toEqual({ tunnel: 'hello', forward: 'hello' })
})
