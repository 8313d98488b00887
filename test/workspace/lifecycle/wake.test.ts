import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { waitFor } from '../../support/wait-for.ts'
import { openHttpTunnel } from '../../support/http/http-tunnel.ts'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'
import { openSsh } from '../../support/workspace/ssh/open-ssh.ts'
import { ask, serveInside } from '../../support/workspace/client/port-client.ts'
import { expectError } from '../../support/workspace/server/expect-error.ts'
import { call, makeWorkspace, startWorkspaceServer } from '../../support/workspace/server/test-server.ts'

interface Settings {
  /** The server's `idle.wake`. */
  readonly server?: boolean
  /** The workspace's `wake`. */
  readonly own?: boolean
  /** The workspace's `idle.suspend_after`. */
  readonly suspendAfter?: string
  readonly isAble?: boolean
}

/** A server with the workspace `demo`, and the number of starts since. */
async function world({ server: wakes, own, suspendAfter, isAble = true }: Settings) {
  const backend = new FakeBackend()
  backend.canSuspend = isAble
  const server = await startWorkspaceServer({
    backends: () => [backend],
    settings: wakes === undefined ? {} : { idle: { wake: wakes } },
  })
  onTestFinished(() => server.stop())
  const demo = `${server.url}/api/workspaces/demo`
  await makeWorkspace(server.url, {
    name: 'demo',
    ...(own !== undefined && { wake: own }),
    ...(suspendAfter !== undefined && { idle: { suspend_after: suspendAfter } }),
  })
  let starts = 0
  backend.before.set('start', () => void (starts += 1))
  const ssh = await openSsh(server)
  onTestFinished(() => ssh.remove())
  const { port } = await serveInside((_asked, answer) => answer.end('inside'))
  return {
    backend,
    server,
    ssh,
    port,
    demo,
    starts: () => starts,
    status: async () => (await call(demo)).body.status,
    rest: (how: 'stop' | 'suspend') => call(`${demo}/${how}`, 'POST'),
    /** Ways to connect; each resolves to whether it succeeded. */
    ways: {
      'an SSH command': async () => (await ssh.run('demo', 'true', { stdin: '' })).status === 0,
      'a tunnel': async () => {
        const answer = await openHttpTunnel(`${demo}/connect/${port}`)
        answer.stream?.destroy()
        return answer.status === 101
      },
      'a port request': async () =>
        (await ask(server, `${port}--demo.localhost:${server.httpPort}`)).status === 200,
      'a command over HTTP': async () =>
        (await call(`${demo}/exec`, 'POST', { command: 'true' })).status === 200,
      'a file': async () => (await fetch(`${demo}/files?path=/etc/hostname`)).ok,
    },
  }
}

test('each way to connect starts a suspended or stopped workspace, once', async () => {
  const { rest, ways, starts, status, server, demo } = await world({ server: true })
  let expected = 0
  for (const [way, connect] of Object.entries(ways))
    for (const how of ['suspend', 'stop'] as const) {
      expect((await rest(how)).status, way).toBe(200)
      const all = await Promise.all([connect(), connect(), connect()])
      expect(all, `${way} after ${how}`).toEqual([true, true, true])
      expected += 1
      expect(starts(), `${way} after ${how}`).toBe(expected)
    }
  // What only looks at workspaces does not start them.
  await rest('suspend')
  for (const path of ['/sessions', '/timeline', '/logs', '/processes', '']) await call(`${demo}${path}`)
  await server.api('workspaces')
  expect(await status()).toBe('suspended')
  const { entries } = (await call(`${demo}/timeline`)).body
  expect(JSON.stringify(entries)).toContain('somebody connected to it')
})

test.each([
  { settings: {}, isWoken: false },
  { settings: { own: true }, isWoken: true },
  { settings: { server: true, own: false }, isWoken: false },
  // As a template sets it.
  { settings: { suspendAfter: '30m' }, isWoken: true },
  { settings: { suspendAfter: '30m', server: false }, isWoken: false },
  { settings: { suspendAfter: '30m', own: false }, isWoken: false },
])('wakes as the workspace, else the server, is set: $settings', async ({ settings, isWoken }) => {
  const { rest, ways, starts } = await world(settings)
  await rest('suspend')
  for (const [way, connect] of Object.entries(ways)) expect(await connect(), way).toBe(isWoken)
  expect(starts()).toBe(isWoken ? 1 : 0)
})

test('a start that fails answers all connections with the reason', async () => {
  const { backend, rest, ways, demo, status } = await world({ own: true })
  await rest('suspend')
  backend.before.set('start', () => {
    throw new Error('the memory is damaged')
  })
  const answer = await call(`${demo}/exec`, 'POST', { command: 'true' })
  expect(answer.status).toBe(500)
  for (const [way, connect] of Object.entries(ways)) expect(await connect(), way).toBe(false)
  expect(await status()).toBe('suspended')
})

test('suspend is refused in words where it is not possible', async () => {
  const { rest, demo, status } = await world({ isAble: false })
  expectError(await rest('suspend'), 501, 'SUSPEND_UNSUPPORTED')
  expect(await status()).toBe('running')
  await rest('stop')
  expectError(await rest('suspend'), 409, 'WORKSPACE_NOT_RUNNING')
  expect((await call(demo)).body).not.toHaveProperty('wake')
})

test('stop discards the memory of a suspended workspace', async () => {
  const { rest, status, backend } = await world({})
  await rest('suspend')
  let stops = 0
  backend.before.set('stop', () => void (stops += 1))
  expect((await rest('stop')).body.status).toBe('stopped')
  expect(stops).toBe(1)
  expect(await status()).toBe('stopped')
})

/** A world whose workspace is suspended, and continues when `release` is called. */
async function slowWorld() {
  const { backend, rest, ...more } = await world({ own: true })
  await rest('suspend')
  const gate = Promise.withResolvers<undefined>()
  backend.before.set('start', () => gate.promise)
  return { ...more, release: () => gate.resolve(undefined) }
}

test('a terminal shows what it waits for, and a program gets nothing but its output', async () => {
  const { ssh, release } = await slowWorld()
  const plain = ssh.run('demo', 'echo done')
  const terminal = spawn('ssh', ['-tt', ...ssh.argv('demo'), 'echo done'], {
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  onTestFinished(() => void terminal.kill())
  let shown = ''
  terminal.stdout.on('data', (bytes: Buffer) => (shown += bytes.toString()))
  await waitFor('the message', () => shown.includes('\n'))
  expect(shown).toBe('The workspace is starting.\r\n')
  release()
  const reason = text(terminal.stderr)
  await once(terminal, 'close')
  expect(shown).toBe('The workspace is starting.\r\n')
  // Then the program is started as usual.
  expect(await reason).toContain('the fake has no terminals')
  const { status, stdout, stderr } = await plain
  expect({ status, stdout: stdout.toString(), stderr }).toEqual({ status: 0, stdout: 'done\n', stderr: '' })
})

test('a browser gets a page that loads again until the workspace runs', async () => {
  const { server, port, release } = await slowWorld()
  const host = `${port}--demo.localhost:${server.httpPort}`
  const accept = { accept: 'text/html,*/*;q=0.8' }
  const first = await ask(server, host, { headers: accept })
  expect(first.status).toBe(503)
  expect(first.headers).toMatchObject({ refresh: '2', 'retry-after': '2' })
  expect(await text(first.answer)).toContain('Workspace &quot;demo&quot; is starting.')
  const program = ask(server, host)
  release()
  expect((await program).status).toBe(200)
  const again = await ask(server, host, { headers: accept })
  expect(again.status).toBe(200)
  expect(await text(again.answer)).toBe('inside')
})

test('a browser gets the reason why a start fails', async () => {
  const { backend, server, port, rest } = await world({ own: true })
  await rest('suspend')
  backend.before.set('start', () => {
    throw new Error('the memory is damaged')
  })
  const headers = { accept: 'text/html' }
  const failed = await ask(server, `${port}--demo.localhost:${server.httpPort}`, { headers })
  expect(failed.status).toBe(500)
  expect(failed.headers).not.toHaveProperty('refresh')
})
