import { createReadStream, existsSync, readdirSync, writeFileSync } from 'node:fs'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { run } from '../../../../src/lib/process/run.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { CLI, userEnvironment } from '../../../support/workspace/client/workspace-cli.ts'
import {
  makeWorkspace,
  startWorkspaceServer,
  type TestServer,
} from '../../../support/workspace/server/test-server.ts'

const backend = new FakeBackend()
let server: TestServer
let directory = ''
beforeAll(async () => {
  server = await startWorkspaceServer({ backends: () => [backend] })
  await makeWorkspace(server.url, { name: 'dev' })
  await server.api('workspaces/dev/exec', 'POST', { command: 'seq 100000 >numbers' })
})
afterAll(() => server.stop())
beforeEach(() => {
  directory = tempDir()
})
afterEach(async () => {
  await server.api('workspaces/copy', 'DELETE')
})

const environment = () => userEnvironment({ WORKSPACE_URL: server.url })
const cli = (...argv: readonly string[]) =>
  run(CLI[0], [CLI[1], ...argv], { environment: environment(), cwd: directory })
/** The numbers in a workspace, which were exported. */
const numbers = async (name: string) =>
  (
    await server.api(`workspaces/${name}/exec`, 'POST', {
      command: 'sha256sum numbers; wc -l numbers',
    })
  ).body.stdout as string

test('export writes a file that import reads', async () => {
  expect(await cli('export', 'dev')).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('dev.tar.gz'),
  })
  expect(readdirSync(directory)).toEqual(['dev.tar.gz'])
  const { status, stdout, stderr } = await cli('import', 'dev.tar.gz', '--name', 'copy', '--json')
  expect(status, stderr).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ name: 'copy', status: 'running' })
  expect(await numbers('copy')).toBe(await numbers('dev'))
})

test('an archive passes through pipes', async () => {
  const line = `'${CLI.join("' '")}' export dev - | '${CLI.join("' '")}' import --name copy`
  expect(await run('/bin/sh', ['-c', line], { environment: environment() })).toMatchObject({ status: 0 })
  expect(await numbers('copy')).toBe(await numbers('dev'))
})

test('an existing file is never replaced', async () => {
  writeFileSync(join(directory, 'dev.tar.gz'), 'mine')
  const { status, stderr } = await cli('export', 'dev')
  expect([status, stderr]).toEqual([2, expect.stringContaining('dev.tar.gz already exists')])
  expect(await text(createReadStream(join(directory, 'dev.tar.gz')))).toBe('mine')
})

test('an export that breaks off leaves no file', async () => {
  const original = backend.exec.bind(backend)
  backend.exec = async (name, request) => {
    const process = await original(name, request)
    const packs = request.argv.join(' ').includes('--create')
    if (packs) process.stdout.once('data', () => void process.signal('SIGKILL'))
    return process
  }
  const { status, stderr } = await cli('export', 'dev', 'out.tar.gz')
  backend.exec = original
  expect([status, stderr]).toEqual([1, expect.stringContaining('incomplete')])
  expect(existsSync(join(directory, 'out.tar.gz'))).toBe(false)
  expect(readdirSync(directory)).toEqual([])
})

test('a refused import ends at once, however much is still to be sent', async () => {
  const endless = spawn(CLI[0], [CLI[1], 'import'], { env: environment(), stdio: ['pipe', 'pipe', 'pipe'] })
  endless.stdin.on('error', () => undefined)
  const write = (): void => {
    while (endless.stdin.write(Buffer.alloc(65_536, 'x')));
  }
  endless.stdin.on('drain', write)
  write()
  const [message, [status]] = await Promise.all([text(endless.stderr), once(endless, 'close')])
  expect([status, message]).toEqual([1, expect.stringContaining('archive')])
})

test.each([
  [['export', 'absent'], 1, 'does not exist'],
  [['import', 'absent.tar.gz'], 2, 'cannot read absent.tar.gz'],
  [['import', 'x', '--backend', 'bochs'], 2, 'docker'],
])('workspace %j explains why it fails', async (argv, status, message) => {
  const failed = await cli(...argv)
  expect([failed.status, failed.stderr]).toEqual([status, expect.stringContaining(message)])
})
