import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { expect, onTestFinished, test, vi } from 'vitest'
import { run } from '../../../src/lib/process/run.ts'
import type { ExecProcess, ExecRequest } from '../../../src/workspace/backend/backend.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'
import { openSsh } from '../../support/workspace/ssh/open-ssh.ts'
import { waitFor } from '../../support/wait-for.ts'
import { apiOf, makeWorkspace, startWorkspaceServer } from '../../support/workspace/server/test-server.ts'

/** The two ends of a link between this machine and a network namespace of the test. */
const HERE = '192.168.231.1'
const THERE = '192.168.231.2'
const SLOW_MS = 30_000
/** Within a minute of its silence, a client that has vanished is cut; a busy machine takes longer. */
const WITHIN_LIMIT = { timeout: 120_000 }
const UPGRADE = ['-H', 'Connection: Upgrade', '-H', 'Upgrade: workspace-tcp']

vi.setConfig({ testTimeout: 300_000 })

let lastCable = 0

class RecordingBackend extends FakeBackend {
  readonly programs: ExecProcess[] = []
  override async exec(name: string, request: ExecRequest): Promise<ExecProcess> {
    const program = await super.exec(name, request)
    this.programs.push(program)
    return program
  }
}

/** A server with one workspace that listens at this end, and a function that runs programs at the other end. */
async function cable(settings: Readonly<Record<string, unknown>> = {}) {
  // The kernel removes the previous test's namespace asynchronously.
  const id = ++lastCable
  const namespace = `ws-test-${process.pid}-${id}`
  const [near, far] = [`wsnear${id}`, `wsfar${id}`]
  await ip('netns', 'add', namespace)
  onTestFinished(() => ip('netns', 'delete', namespace))
  await ip('link', 'add', near, 'type', 'veth', 'peer', 'name', far, 'netns', namespace)
  await ip('address', 'add', `${HERE}/30`, 'dev', near)
  await ip('-n', namespace, 'address', 'add', `${THERE}/30`, 'dev', far)
  onTestFinished(() => ip('link', 'delete', near))
  await ip('link', 'set', near, 'up')
  await ip('-n', namespace, 'link', 'set', far, 'up')
  const backend = new RecordingBackend()
  const server = await startWorkspaceServer({
    backends: () => [backend],
    settings: { ...settings, http: { host: HERE }, ssh: { host: HERE } },
  })
  onTestFinished(() => server.stop())
  const url = `http://${HERE}:${server.httpPort}`
  await makeWorkspace(url, { name: 'demo', idle: { stop_after: 0 } })
  const start = (...argv: readonly string[]) => {
    const client = spawn('ip', ['netns', 'exec', namespace, ...argv], { stdio: ['pipe', 'pipe', 'ignore'] })
    onTestFinished(() => void client.kill('SIGKILL'))
    return client
  }
  return { namespace, near, far, server, url, start, backend }
}

test('F31 clients that vanish release their connections, programs and workspace', async () => {
  const { namespace, far, server, url, start, backend } = await cable({ idle_timeout: '5s' })
  const ssh = await openSsh({ url, sshPort: server.sshPort })
  onTestFinished(() => ssh.remove())
  const endless = await listen(flood)
  const mute = await listen((socket) => void socket.resume())
  await ip('-n', namespace, 'link', 'set', 'lo', 'up')
  const session = (flags: readonly string[], ...command: readonly string[]) =>
    start('ssh', ...ssh.argv('demo', ...TO_HERE, ...flags), ...command)
  const tunnel = (port: number) => ['-sN', ...UPGRADE, `${url}/api/workspaces/demo/connect/${port}`]
  const exec = (...argv: readonly string[]) => {
    const headers = ['-H', 'content-type: application/json', '-H', 'accept: text/event-stream']
    return ['-sN', ...headers, '-d', JSON.stringify({ argv }), `${url}/api/workspaces/demo/exec`]
  }
  session([], 'sleep 600')
  session([], 'cat /dev/zero')
  session(['-N', '-L', `9000:127.0.0.1:${endless}`])
  start('curl', '-sN', `${url}/api/events`)
  start('curl', ...tunnel(mute))
  start('curl', ...tunnel(endless))
  start('curl', ...exec('sleep', '600'))
  start('curl', ...exec('cat', '/dev/zero'))
  // An upload whose data never comes.
  start('curl', '-s', '-T', '-', `${url}/api/workspaces/demo/files?path=copy`)
  await waitFor('all connections', async () => (await connections()) === 9)
  await waitFor('the programs', () => backend.programs.length >= 4)
  // Through the forward.
  const retry = ['--retry', '20', '--retry-connrefused']
  const forwarded = start('curl', '-sN', '--http0.9', ...retry, 'http://127.0.0.1:9000')
  await once(forwarded.stdout, 'readable')

  await apiOf(url)('workspaces/demo', 'PATCH', { idle: null })
  await ip('-n', namespace, 'link', 'set', far, 'down')
  // The kernel alone would keep them for a quarter of an hour.
  await expect.poll(connections, WITHIN_LIMIT).toBe(0)
  await Promise.all(backend.programs.map(({ exitStatus }) => exitStatus.catch(() => undefined)))
  // As idle.
  const status = async () => (await apiOf(url)('workspaces/demo')).body.status
  await expect.poll(status, WITHIN_LIMIT).toBe('stopped')
})

test('a client that is silent or reads nothing stays connected while others that vanished are cut', async () => {
  const { namespace, far, server, url, start } = await cable()
  const ssh = await openSsh({ url, sshPort: server.sshPort })
  onTestFinished(() => ssh.remove())
  const endless = await listen(flood)
  const tunnel = [...UPGRADE, `${url}/api/workspaces/demo/connect/${endless}`]
  const here = (program: string, ...argv: readonly string[]) => {
    const client = spawn(program, argv, { stdio: ['pipe', 'pipe', 'ignore'] })
    onTestFinished(() => void client.kill('SIGKILL'))
    return client
  }
  // Their output is read by nobody, so their windows are closed.
  const paused = [
    here('curl', '-sN', ...tunnel),
    here('ssh', ...ssh.argv('demo', ...TO_HERE), 'cat /dev/zero'),
  ]
  const silent = [
    here('curl', '-sN', `${url}/api/events`),
    here('ssh', ...ssh.argv('demo', ...TO_HERE), 'sleep 600'),
  ]
  const vanishing = [
    start('curl', '-sN', ...tunnel),
    start('ssh', ...ssh.argv('demo', ...TO_HERE), 'cat /dev/zero'),
  ]
  await Promise.all([...paused, ...vanishing].map((client) => once(client.stdout, 'readable')))
  await ip('-n', namespace, 'link', 'set', far, 'down')
  await expect.poll(connections, WITHIN_LIMIT).toBe(0)
  expect([...paused, ...silent].map(({ exitCode }) => exitCode)).toEqual([null, null, null, null])
})

test('F32 a tunnel over a slow link stays open until all data is transferred', async () => {
  const { near, url, start } = await cable()
  const bytes = 250_000
  const inside = createServer((socket) => socket.end(Buffer.alloc(bytes, 'x')))
  await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void inside.close())
  const rate = ['rate', '256kbit', 'burst', '4k', 'latency', '400ms']
  const shaped = await run('tc', ['qdisc', 'add', 'dev', near, 'root', 'tbf', ...rate])
  expect(shaped.status).toBe(0)
  const { port } = inside.address() as { port: number }
  const beganMs = performance.now()
  const client = start('curl', '-sN', ...UPGRADE, `${url}/api/workspaces/demo/connect/${port}`)
  const carried = await buffer(client.stdout)
  expect(carried.length).toBe(bytes)
  expect(performance.now() - beganMs).toBeGreaterThan(5_000)
})

test('F32 a file is written over a slow link as long as data arrives', async () => {
  const { namespace, far, url, start } = await cable()
  const content = randomBytes(1_100_000)
  const file = join(tempDir(), 'file')
  writeFileSync(file, content)
  const rate = ['rate', '256kbit', 'burst', '4k', 'latency', '400ms']
  await ip('netns', 'exec', namespace, 'tc', 'qdisc', 'add', 'dev', far, 'root', 'tbf', ...rate)
  const beganMs = performance.now()
  const at = `${url}/api/workspaces/demo/files?path=copy`
  const client = start('curl', '-s', '-w', '%{http_code}', '-T', file, at)
  expect(await text(client.stdout)).toBe('204')
  expect(performance.now() - beganMs).toBeGreaterThan(SLOW_MS)
  expect(Buffer.from(await (await fetch(at)).arrayBuffer()).equals(content)).toBe(true)
})

/** Number of the server's connections to the other end. */
async function connections(): Promise<number> {
  const { stdout } = await run('ss', ['-Htn', 'state', 'established', 'dst', THERE])
  return stdout.split('\n').filter(Boolean).length
}

/** Listens inside until the end of the test. Returns the port. */
async function listen(onConnection: (socket: Socket) => void): Promise<number> {
  const inside = createServer((socket) => {
    onTestFinished(() => void socket.destroy())
    onConnection(socket.on('error', () => undefined))
  })
  await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void inside.close())
  return (inside.address() as AddressInfo).port
}

/** Sends without end. */
function flood(socket: Socket): void {
  const zeros = Readable.from(
    (function* () {
      for (;;) yield Buffer.alloc(65_536)
    })(),
  )
  socket.once('close', () => zeros.destroy())
  zeros.pipe(socket)
}

/** Options of ssh to an address of the server other than the pinned one. */
const TO_HERE = ['StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null', `HostName=${HERE}`].flatMap(
  (option) => ['-o', option],
)

async function ip(...argv: readonly string[]): Promise<void> {
  const { status, stderr } = await run('ip', argv)
  if (status !== 0) throw new Error(`ip ${argv.join(' ')}: ${stderr}`)
}
