import { type ChildProcess, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { buffer, text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../../support/services/free-port.ts'
import { type DockerSsh, dockerSsh } from '../../../support/workspace/ssh/docker-ssh.ts'
import { runProgram } from '../../../support/workspace/ssh/open-ssh.ts'
import { isListening } from '../../../support/is-listening.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { waitFor } from '../../../support/wait-for.ts'

let workspace: DockerSsh

beforeAll(async () => {
  workspace = await dockerSsh()
})
afterAll(() => workspace.remove())

/** Listens inside the workspace, which shares this network, until the test ends. */
async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}
const inside = (onConnection: (socket: Socket) => void) =>
  listening(
    createServer({ allowHalfOpen: true }, (socket) => {
      socket.on('error', () => undefined)
      onConnection(socket)
    }),
  )
const greeting = () => listening(createHttpServer((_request, response) => response.end('hello')))

/** Starts ssh with the given flags until the test ends. */
function started(flags: readonly string[], command: readonly string[] = []): ChildProcess {
  const child = spawn('ssh', [...workspace.ssh.argv(workspace.name, ...flags), ...command], { stdio: 'pipe' })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

/** Forwards a local Unix socket to a port inside. */
async function forwardTo(port: number): Promise<string> {
  const socket = join(tempDir(), 'forward')
  started(['-N', '-L', `${socket}:localhost:${port}`])
  // The file exists shortly before ssh listens.
  await waitFor('the forward', () => isListening(socket))
  return socket
}
const open = (path: string) => connect({ path, allowHalfOpen: true })
const sha256 = (data: Buffer) => createHash('sha256').update(data).digest('hex')

test('a forward carries the client’s EOF and then the whole response', async () => {
  const data = randomBytes(16 * 2 ** 20)
  const port = await inside((socket) => {
    void buffer(socket).then((all) => socket.end(Buffer.concat([Buffer.from(sha256(all)), all])))
  })
  const socket = open(await forwardTo(port))
  socket.end(data)
  const answer = await buffer(socket)
  expect([answer.subarray(0, 64).toString(), sha256(answer.subarray(64))]).toEqual([
    sha256(data),
    sha256(data),
  ])
})

// Regression: EOF from inside overtook up to 2 MiB waiting for the client's window.
test('a forward whose inner side ends first loses no data to a slow reader and still accepts input', async () => {
  const [down, up] = [randomBytes(24 * 2 ** 20), randomBytes(5 * 2 ** 20)]
  const got = Promise.withResolvers<string>()
  const port = await inside((socket) => {
    socket.end(down)
    void buffer(socket).then((all) => got.resolve(sha256(all)))
  })
  const socket = open(await forwardTo(port))
  // Until no more data moves, because every window on the path is full.
  socket.pause()
  let before = -1
  await waitFor('a standstill', async () => {
    await new Promise((resolve) => setTimeout(resolve, 200))
    const isStill = socket.bytesRead === before
    before = socket.bytesRead
    return isStill
  })
  expect(sha256(await buffer(socket))).toBe(sha256(down))
  socket.end(up)
  expect(await got.promise).toBe(sha256(up))
})

test('a forward to a closed port ends immediately, and the connection continues', async () => {
  const refused = await forwardTo(await freePort())
  expect(await text(open(refused))).toBe('')
  expect(await text(open(refused))).toBe('')
})

test('a SOCKS proxy reaches the workspace by name and address, and no other host', async () => {
  const [port, proxy] = [await greeting(), await freePort()]
  const client = started(['-N', '-D', `127.0.0.1:${proxy}`, '-v'])
  let log = ''
  client.stderr?.setEncoding('utf8').on('data', (line: string) => (log += line))
  await waitFor('the proxy', () => log.includes('Entering interactive session'))
  const curl = (flag: string, host: string) =>
    runProgram('curl', ['-sS', '--max-time', '10', flag, `127.0.0.1:${proxy}`, `http://${host}:${port}/`])
  for (const [flag, host] of [
    ['--socks5', '127.0.0.1'],
    ['--socks5-hostname', 'localhost'],
    ['--socks4a', 'localhost'],
  ] as const) {
    expect((await curl(flag, host)).stdout.toString()).toBe('hello')
  }
  for (const host of ['127.0.0.2', 'localhost.example', '10.255.255.1']) {
    expect((await curl('--socks5-hostname', host)).status).not.toBe(0)
  }
})

test('one master connection carries 20 forwards and 50 sessions', async () => {
  const [port, directory] = [await greeting(), tempDir()]
  const control = join(directory, 'control')
  const sockets = Array.from({ length: 20 }, (_, i) => join(directory, `forward${i}`))
  started(['-M', '-N', '-S', control, ...sockets.flatMap((socket) => ['-L', `${socket}:127.0.0.1:${port}`])])
  await waitFor('the master', () => existsSync(control) && sockets.every(isListening))
  const sessions = Array.from({ length: 50 }, async (_, i) => {
    const { status, stdout } = await workspace.ssh.run(workspace.name, `cat; exit ${i}`, {
      flags: ['-S', control],
      stdin: `session ${i}`,
    })
    expect([status, stdout.toString()]).toEqual([i, `session ${i}`])
  })
  const forwards = sockets.map(async (socket) => {
    const { stdout } = await runProgram('curl', ['-sS', '--unix-socket', socket, 'http://localhost/'])
    expect(stdout.toString()).toBe('hello')
  })
  await Promise.all([...sessions, ...forwards])
})

test('a shell with piped input beside a proxy, as editors use it, keeps serving requests', async () => {
  const [port, proxy] = [await greeting(), await freePort()]
  const shell = started(['-T', '-D', `127.0.0.1:${proxy}`], ['bash'])
  let output = ''
  shell.stdout?.setEncoding('utf8').on('data', (some: string) => (output += some))
  shell.stdin?.write('echo ready $((6 * 7))\n')
  await waitFor('the shell', () => output === 'ready 42\n')
  const requests = Array.from({ length: 20 }, () =>
    runProgram('curl', ['-sS', '--socks5-hostname', `127.0.0.1:${proxy}`, `http://localhost:${port}/`]),
  )
  shell.stdin?.write('head -c 30000000 /dev/zero | tr "\\0" x; echo end\n')
  for (const { stdout } of await Promise.all(requests)) expect(stdout.toString()).toBe('hello')
  await waitFor('the output', () => output.length === 'ready 42\n'.length + 30_000_000 + 'end\n'.length)
  const ended = new Promise((resolve) => shell.once('exit', resolve))
  shell.stdin?.end('exit 5\n')
  expect(await ended).toBe(5)
})
