import { randomBytes, randomUUID } from 'node:crypto'
import { openAsBlob, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import {
  connect,
  ConnectionError,
  type ExecEvent,
  type Workspace,
  type WorkspaceEvent,
} from '../../../src/workspace/client/sdk/connect.ts'
import { dockerBackend, leftovers, removeLeftovers, uniqueName } from '../../support/engine/docker.ts'
import { collect } from '../../support/collect.ts'
import { cuttableLink } from '../../support/http/cuttable-link.ts'
import { freePort } from '../../support/services/free-port.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'
import { startWorkspaceServer, type TestServer } from '../../support/workspace/server/test-server.ts'

const name = uniqueName('sdk')
const progress: string[] = []
let server: TestServer
let workspace: Workspace
beforeAll(async () => {
  server = await startWorkspaceServer({ backends: () => [dockerBackend()] })
  const onProgress = (message: string): void => void progress.push(message)
  workspace = await connect({ url: server.url }).create({ name, labels: { my_key: 'a b' }, onProgress })
})
afterAll(async () => {
  await workspace.delete()
  await server.stop()
})

const textOf = (events: readonly ExecEvent[], type: string): string =>
  events.map((each) => (each.type === type && 'data' in each ? each.data : '')).join('')

/** Serves these responses in turn; returns the URL and the methods that it received. */
async function scripted(...answers: readonly (readonly [status: number, headers: object, body: string])[]) {
  const received: string[] = []
  const fake = createServer((request, response) => {
    const [status, headers, body] = answers[Math.min(received.length, answers.length - 1)] ?? [500, {}, '']
    received.push(request.method ?? '')
    request.resume()
    response.writeHead(status, { ...headers }).end(body)
  })
  await new Promise<void>((resolve) => fake.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void fake.close())
  return { server: connect({ url: `http://127.0.0.1:${(fake.address() as AddressInfo).port}` }), received }
}

describe('workspaces', () => {
  test('a workspace has the state of its creation, which reported progress', () => {
    expect(workspace.info).toMatchObject({ name, status: 'running', labels: { my_key: 'a b' } })
    expect(workspace.info.createdAt).toMatch(/^\d{4}-/)
    expect(progress.length).toBeGreaterThan(0)
  })

  test.each([
    [{ my_key: 'a b' }, true],
    [{ my_key: true as const }, true],
    [{ my_key: 'other' }, false],
    [{}, true],
  ])('list selects labels %j', async (labels, isListed) => {
    const names = (await connect({ url: server.url }).list({ labels })).map((each) => each.name)
    expect(names.includes(name)).toBe(isListed)
  })

  test('info, get and refresh return the state in camelCase', async () => {
    expect(await connect({ url: server.url }).info()).toMatchObject({
      name: 'test-server',
      httpPort: server.httpPort,
    })
    const found = await connect({ url: server.url }).get(name)
    expect(found.info).toMatchObject({ containerId: workspace.info.containerId })
    expect(await found.refresh()).toEqual(found.info)
  })

  test('stop and start change the state, which events report', async () => {
    const own = uniqueName('sdk-events')
    onTestFinished(() => removeLeftovers(own))
    const client = connect({ url: server.url })
    const events: WorkspaceEvent[] = []
    const stop = new AbortController()
    const following = (async () => {
      for await (const event of client.events({ signal: stop.signal })) events.push(event)
    })()
    await waitFor('the first event', () => events.length > 0)
    const created = await client.create({ name: own })
    expect(await created.stop()).toMatchObject({ status: 'stopped' })
    expect(await created.start()).toMatchObject({ status: 'running' })
    await created.delete()
    await waitFor('the last event', () => events.at(-1)?.type === 'deleted')
    stop.abort(new Error('enough'))
    await expect(following).rejects.toThrow('enough')
    expect(events[0]?.type).toBe('snapshot')
    const states = events.flatMap((each) =>
      'workspace' in each && each.workspace.name === own ? [each.workspace.status] : [],
    )
    expect(states).toEqual(expect.arrayContaining(['starting', 'running', 'stopped']))
    expect(events).toContainEqual({ type: 'deleted', name: own })
  })

  test('aborting a creation removes what it created', async () => {
    const own = uniqueName('sdk-abort')
    const abort = new AbortController()
    const creating = connect({ url: server.url }).create({
      name: own,
      signal: abort.signal,
      onProgress: () => abort.abort(new Error('changed my mind')),
    })
    await expect(creating).rejects.toThrow('changed my mind')
    expect(await leftovers(own)).toEqual([])
  })

  test('aborting the creation of a name that is taken leaves its workspace', async () => {
    const abort = new AbortController()
    const creating = connect({ url: server.url }).create({ name, signal: abort.signal })
    abort.abort()
    await expect(creating).rejects.toThrow(/already exists|aborted/)
    expect(await workspace.refresh()).toMatchObject({ status: 'running' })
  })
})

describe('programs', () => {
  const cases = [
    [
      'an argument vector',
      ['printf', '%s|', 'a b', '$HOME', "'"],
      {},
      { stdout: "a b|$HOME|'|", exitStatus: 0 },
    ],
    [
      'a line for the shell',
      'echo out; echo err >&2; exit 3',
      {},
      { stdout: 'out\n', stderr: 'err\n', exitStatus: 3 },
    ],
    [
      'directory and environment',
      'pwd; echo $snake_case',
      { cwd: '/tmp', env: { snake_case: 'ä "x"' } },
      { stdout: '/tmp\nä "x"\n' },
    ],
    ['a user', ['id', '-un'], { user: 'root' }, { stdout: 'root\n' }],
    ['standard input', ['cat'], { stdin: 'a\u2028b\u0085c\n' }, { stdout: 'a\u2028b\u0085c\n' }],
    ['a time limit', ['sleep', '1000'], { timeoutMs: 1 }, { timedOut: true }],
    [
      'limited output',
      'seq 1000',
      { maxOutputBytes: 4 },
      { stdout: '000\n'.slice(-4), stderrDroppedBytes: 0 },
    ],
  ] as const
  test.each(cases)('exec runs with %s', async (_what, program, options, expected) => {
    expect(await workspace.exec(program, options)).toMatchObject(expected)
  })

  test('exec and execStream return bytes', async () => {
    const program = String.raw`printf '\000\377\376'`
    const bytes = Buffer.from([0, 255, 254])
    const options = { encoding: 'bytes' } as const
    expect((await workspace.exec(program, options)).stdout).toEqual(bytes)
    expect(await collect(workspace.execStream(program, options))).toMatchObject([
      { type: 'stdout', data: bytes },
      { type: 'exit', exitStatus: 0 },
    ])
  })

  test('execStream yields all of a large output to a slow reader', async () => {
    const events: ExecEvent[] = []
    for await (const event of workspace.execStream('seq 1 2000000; echo end >&2; exit 7')) {
      if (events.length < 5) await delay(20)
      events.push(event)
    }
    const expected = Array.from({ length: 2_000_000 }, (_, i) => `${i + 1}\n`).join('')
    expect(textOf(events, 'stdout') === expected).toBe(true)
    expect(textOf(events, 'stderr')).toBe('end\n')
    expect(events.at(-1)).toMatchObject({ type: 'exit', exitStatus: 7, signal: null, timedOut: false })
  })

  const isRunning = async (marker: string): Promise<boolean> =>
    (await workspace.exec(['pgrep', '-f', `^sleep ${marker}`])).exitStatus === 0

  test('ending the iteration hangs the program up', async () => {
    for await (const event of workspace.execStream('echo ready; exec sleep 86401'))
      if (event.type === 'stdout') break
    await expect.poll(() => isRunning('86401')).toBe(false)
  })

  test('aborting the signal of exec hangs the program up', async () => {
    const abort = new AbortController()
    const running = workspace.exec(['sleep', '86402'], { signal: abort.signal })
    await waitFor('the program to run', () => isRunning('86402'))
    abort.abort(new Error('too long'))
    await expect(running).rejects.toThrow('too long')
    await waitFor('the program to end', async () => !(await isRunning('86402')))
  })
})

describe('background processes', () => {
  test('a process reads input, gets signals and is waited for', async () => {
    const process = await workspace.spawn('cat; exit 4')
    await process.write('one\n')
    await process.write('two\n', { end: true })
    expect(await process.wait()).toMatchObject({ status: 'ended', exitStatus: 4 })
    const output = await collect(process.output())
    expect(output.map((each) => ('data' in each ? each.data : '')).join('')).toBe('one\ntwo\n')
    expect(await process.info()).toMatchObject({ id: process.id, exitStatus: 4 })
    const sleeping = await workspace.spawn('echo ready; exec sleep 1000')
    await sleeping.output().next()
    await sleeping.signal('SIGTERM')
    expect(await sleeping.wait()).toMatchObject({ exitStatus: 143 })
    expect((await workspace.processes()).map(({ id }) => id)).toContain(sleeping.id)
  })

  test('output and wait continue after every lost connection, with nothing lost or repeated', async () => {
    const { url, cut } = await cuttableLink(server.httpPort)
    const far = await connect({ url }).get(name)
    const process = await far.spawn('while read line; do echo $line; done; echo end')
    const waiting = process.wait()
    const feed = workspace.process(process.id)
    const read: string[] = []
    await feed.write('line 0\n')
    for await (const each of process.output()) {
      if (each.type !== 'stdout') continue
      read.push(...each.data.trimEnd().split('\n'))
      cut()
      if (read.length < 6) await feed.write(`line ${read.length}\n`)
      else if (read.length === 6) await feed.write('', { end: true })
    }
    expect(read).toEqual(['line 0', 'line 1', 'line 2', 'line 3', 'line 4', 'line 5', 'end'])
    expect(await waiting).toMatchObject({ exitStatus: 0 })
  })

  test('a stream gives up when no server responds in time', async () => {
    const { url, cut } = await cuttableLink(server.httpPort)
    const far = await connect({ url }).get(name)
    const process = await far.spawn('echo ready; sleep 1000')
    const reading = (async () => {
      for await (const each of process.output({ reconnectMs: 0 })) if (each.type === 'stdout') cut()
    })()
    await expect(reading).rejects.toThrow(ConnectionError)
    await workspace.process(process.id).signal('SIGKILL')
  })

  test('a process that ended with a restarted server is not found, and events continue', async () => {
    const port = await freePort()
    const own = uniqueName('sdk-restart')
    onTestFinished(() => removeLeftovers(own))
    const [serverId, settings] = [randomUUID(), { http: { port } }]
    const first = await startWorkspaceServer({ backends: () => [dockerBackend({ serverId })], settings })
    const client = connect({ url: first.url })
    const process = await (await client.create({ name: own })).spawn('echo ready; sleep 1000')
    const output = process.output()
    expect((await output.next()).value).toMatchObject({ data: 'ready\n' })
    const reading = collect(output)
    const lost = reading.catch((error: unknown) => error)
    const events = client.events()
    expect((await events.next()).value).toMatchObject({ type: 'snapshot' })
    const second = await first.restart()
    onTestFinished(() => second.stop())
    expect(await lost).toMatchObject({ code: 'PROCESS_NOT_FOUND', status: 404 })
    for await (const event of events) if (event.type === 'snapshot') break
  })
})

describe('files', () => {
  const bytes = randomBytes(3_000_000)
  const paths = ['plain.txt', 'with space/ümlaut 🚀.bin', '?a=b&c#d%20+', 'quote\'s "file"', '/tmp/absolute']

  test.each(paths)('%s is written, read, listed, moved and removed', async (path) => {
    const { files } = workspace
    await files.write(path, bytes, { createParents: true, mode: '640' })
    expect(bytes.equals(await files.read(path))).toBe(true)
    expect(await files.read(path, { offset: 7, length: 5 })).toEqual(bytes.subarray(7, 12))
    const base = path.split('/').at(-1)
    expect(await files.stat(path)).toMatchObject({
      name: base,
      type: 'file',
      bytes: bytes.length,
      mode: '640',
    })
    const parent = path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '.'
    expect((await files.list(parent)).map((each) => each.name)).toContain(base)
    await files.mkdir('moved/deep')
    await files.move(path, 'moved/deep/file')
    await files.write(path, 'again')
    await expect(files.move(path, 'moved/deep/file')).rejects.toMatchObject({ code: 'FILE_CONFLICT' })
    await files.move(path, 'moved/deep/file', { overwrite: true })
    expect(await files.readText('moved/deep/file')).toBe('again')
    await expect(files.remove('moved')).rejects.toMatchObject({ code: 'FILE_CONFLICT' })
    await files.remove('moved', { recursive: true })
    await expect(files.stat('moved')).rejects.toMatchObject({ code: 'FILE_NOT_FOUND', status: 404 })
  })

  test('a file of this machine and a stream are uploaded, and read in pieces', async () => {
    const local = join(tempDir(), 'large')
    writeFileSync(local, bytes)
    const { files } = workspace
    await files.write('blob', await openAsBlob(local))
    async function* pieces() {
      for (let at = 0; at < bytes.length; at += 100_000) yield bytes.subarray(at, at + 100_000)
    }
    await files.write('stream', pieces(), { bytes: bytes.length })
    for (const path of ['blob', 'stream'])
      expect(bytes.equals(Buffer.concat(await collect(files.readStream(path))))).toBe(true)
    await expect(files.write('stream', pieces())).rejects.toThrow('set the option "bytes"')
    for (const wrong of [bytes.length - 1, bytes.length + 1])
      await expect(files.write('stream', pieces(), { bytes: wrong })).rejects.toThrow(RangeError)
    expect(await files.stat('stream')).toMatchObject({ bytes: bytes.length })
  })
})

describe('ports', () => {
  const LISTEN =
    '$s = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1", LocalPort => shift) or die $!; sleep'
  test('waitForPort resolves when a program listens, and previewUrl opens the port', async () => {
    const port = await freePort()
    await expect(workspace.waitForPort(port, { timeoutMs: 0 })).rejects.toMatchObject({
      code: 'WAIT_TIMED_OUT',
    })
    const process = await workspace.spawn(['perl', '-MIO::Socket::INET', '-e', LISTEN, String(port)])
    expect(await workspace.waitForPort(port)).toMatchObject({ port })
    expect((await workspace.ports()).map((each) => each.port)).toContain(port)
    expect(await workspace.previewUrl(port)).toContain(`${port}--${name}`)
    await process.signal('SIGKILL')
  })
})

describe('errors', () => {
  const missing = uniqueName('missing')
  test.each([
    ['WORKSPACE_NOT_FOUND', 404, () => connect({ url: server.url }).get(missing)],
    ['INVALID_WORKSPACE_NAME', 400, () => connect({ url: server.url }).get('a/../b')],
    ['WORKSPACE_ALREADY_EXISTS', 409, () => connect({ url: server.url }).create({ name })],
    ['WORKSPACE_ALREADY_RUNNING', 409, () => workspace.start()],
    ['SUSPEND_UNSUPPORTED', 501, () => workspace.suspend()],
    ['INVALID_REQUEST', 400, () => workspace.exec([])],
    ['PROCESS_NOT_FOUND', 404, () => workspace.process('a/b').info()],
    ['FILE_NOT_FOUND', 404, () => workspace.files.read('missing')],
    ['FILE_DENIED', 403, () => workspace.files.write('/etc/shadow', 'x')],
    [
      'IMAGE_NOT_FOUND',
      200,
      () => connect({ url: server.url }).create({ name: missing, image: 'missing.invalid:1' }),
    ],
  ])('%s is reported as the server sends it', async (code, status, request) => {
    const allowed =
      code === 'IMAGE_NOT_FOUND' ? expect.stringMatching(/IMAGE_NOT_FOUND|REGISTRY|BACKEND/) : code
    await expect(request()).rejects.toMatchObject({ name: 'WorkspaceError', code: allowed, status })
  })

  test.each([
    ['SERVER_UNREACHABLE', async () => `http://127.0.0.1:${await freePort()}`],
    ['SERVER_UNREACHABLE', async () => `unix://${tempDir()}/missing.sock`],
    ['SERVER_URL_INVALID', async () => 'ftp://127.0.0.1'],
  ])('%s names the server and the remedy', async (code, url) => {
    const failure = connect({ url: await url() }).info()
    await expect(failure).rejects.toMatchObject({ name: 'ConnectionError', code })
    await expect(failure).rejects.toThrow(/workspace serve|use one such as/)
  })

  const busy = [
    503,
    { 'retry-after': '0' },
    '{"error":{"code":"BACKEND_UNAVAILABLE","message":"busy"}}',
  ] as const

  test('a request that changes nothing is repeated while the server asks for it, but not for ever', async () => {
    const recovering = await scripted(busy, busy, [200, {}, '{"http_port": 1}'])
    expect(await recovering.server.info()).toEqual({ httpPort: 1 })
    expect(recovering.received).toEqual(['GET', 'GET', 'GET'])
    const broken = await scripted(busy)
    await expect(broken.server.info()).rejects.toMatchObject({ code: 'BACKEND_UNAVAILABLE', status: 503 })
    expect(broken.received).toHaveLength(5)
  })

  test('other requests and other answers are never repeated', async () => {
    const creating = await scripted(busy)
    await expect(creating.server.create({ name: 'x' })).rejects.toMatchObject({ status: 503 })
    expect(creating.received).toEqual(['POST'])
    for (const answer of [
      [503, {}, ''],
      [500, { 'retry-after': '0' }, ''],
      [200, {}, '<html>'],
    ] as const) {
      const { server: other, received } = await scripted(answer)
      await expect(other.info()).rejects.toThrow(/answered 50|not from a workspace server/)
      expect(received).toEqual(['GET'])
    }
  })
})
