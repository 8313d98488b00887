import { spawn } from 'node:child_process'
import { connect, createServer } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { CLI, userEnvironment, workspaceCli } from '../../../support/workspace/client/workspace-cli.ts'
import {
  makeWorkspace,
  startWorkspaceServer,
  type TestServer,
} from '../../../support/workspace/server/test-server.ts'

let server: TestServer

beforeAll(async () => {
  server = await startWorkspaceServer({ backends: () => [new FakeBackend()] })
  await makeWorkspace(server.url, { name: 'demo' })
})
afterAll(() => server.stop())

const environment = () => userEnvironment({ WORKSPACE_URL: server.url })

/** Starts a server inside the workspace that echoes its input after EOF. */
async function echo(): Promise<number> {
  const inside = createServer({ allowHalfOpen: true }, (socket) => {
    void text(socket).then((said) => socket.end(`${said.length} ${said}`))
  })
  await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void inside.close())
  return (inside.address() as { port: number }).port
}

function start(...argv: readonly string[]) {
  const child = spawn(CLI[0], [CLI[1], ...argv], { env: environment() })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

test('connect joins standard input and output, and closes each direction separately', async () => {
  const child = start('connect', 'demo', String(await echo()))
  child.stdin.end('hello')
  const [said, status] = await Promise.all([
    text(child.stdout),
    new Promise((resolve) => child.once('exit', resolve)),
  ])
  expect([said, status]).toEqual(['5 hello', 0])
})

test('connect --local forwards a port until it is interrupted', async () => {
  const child = start('connect', 'demo', String(await echo()), '--local', '0')
  const listening = await new Promise<number>((resolve) => {
    child.stdout.once('data', (line: Buffer) =>
      resolve((JSON.parse(line.toString()) as { listening: number }).listening),
    )
  })
  for (const words of ['one', 'two']) {
    const socket = connect({ port: listening, host: '127.0.0.1', allowHalfOpen: true })
    socket.end(words)
    expect(await text(socket)).toBe(`3 ${words}`)
  }
  child.kill('SIGINT')
  expect(await new Promise((resolve) => child.once('exit', resolve))).toBe(0)
})

test.each([
  [['demo', '1'], 'cannot be reached'],
  [['demo', '0'], 'must be a number from 1 to 65535'],
  [['nobody', '80'], 'workspace "nobody" does not exist'],
  [['demo', '1', '--local', '0'], 'cannot be reached'],
])('connect %j reports the error immediately', async (argv, sentence) => {
  const { status, stdout, stderr } = await workspaceCli(['connect', ...argv], environment())
  expect([status, stdout]).toEqual([1, ''])
  expect(stderr).toContain(sentence)
})

test('sessions lists and kills sessions', { tags: ['long'] }, async () => {
  const cli = (...argv: readonly string[]) => workspaceCli(['sessions', ...argv], environment())
  expect(JSON.parse((await cli()).stdout)).toEqual({ sessions: [] })
  expect((await cli('--table')).stdout).toBe('no tmux sessions\n')
  expect(await cli('ls', 'nobody')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('does not exist'),
  })
  expect(await cli('kill', 'demo', 'none')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('has no tmux session "none"'),
  })
  expect((await server.api('sessions')).status).toBe(200)
})
