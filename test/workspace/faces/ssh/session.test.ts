import { readFileSync } from 'node:fs'
import { execFileSync, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { ExecProcess, ExecRequest } from '../../../../src/workspace/backend/backend.ts'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { openSsh, type OpenSsh } from '../../../support/workspace/ssh/open-ssh.ts'
import { waitFor } from '../../../support/wait-for.ts'
import {
  makeWorkspace,
  startWorkspaceServer,
  type TestServer,
} from '../../../support/workspace/server/test-server.ts'

let server: TestServer
let ssh: OpenSsh
const started: ExecProcess[] = []
const backend = new (class extends FakeBackend {
  override async exec(name: string, request: ExecRequest): Promise<ExecProcess> {
    const process = await super.exec(name, request)
    started.push(process)
    return process
  }
})()

beforeAll(async () => {
  server = await startWorkspaceServer({ backends: () => [backend] })
  ssh = await openSsh(server)
  for (const name of ['dev', 'halted', 'broken']) {
    await makeWorkspace(server.url, { name })
  }
  await server.api('workspaces/halted/stop', 'POST')
  backend.happen('broken', { is: 'error', message: 'its disk is missing' })
})
afterAll(async () => {
  ssh.remove()
  await server.stop()
})

test.each([0, 3, 255])('a command exits with its own status %i', async (status) => {
  expect(await ssh.run('dev', `exit ${status}`)).toMatchObject({ status })
})

test('a command killed by a signal differs from one that exits with that number', async () => {
  expect(await ssh.run('dev', 'bash -c "kill -TERM \\$\\$"; exit $?')).toMatchObject({ status: 143 })
  // OpenSSH's client exits with 255 when the command was killed by a signal.
  expect(await ssh.run('dev', 'kill -KILL $$')).toMatchObject({ status: 255, stderr: '' })
})

test.each([
  ['aes128-gcm@openssh.com', 34_000],
  ['aes128-gcm@openssh.com', 35_000],
  ['aes128-gcm@openssh.com', 131_071],
  ['chacha20-poly1305@openssh.com', 131_071],
  ['aes256-ctr', 131_071],
])('a command runs over %s with %d bytes', async (cipher, length) => {
  const [begin, end] = ['printf %s ', ' | wc -c']
  const size = length - begin.length - end.length
  const { status, stdout } = await ssh.run('dev', `${begin}${'x'.repeat(size)}${end}`, {
    flags: ['-o', `Ciphers=${cipher}`],
  })
  expect([status, Number(stdout)]).toEqual([0, size])
})

test('standard output and standard error stay separate', async () => {
  const { stdout, stderr } = await ssh.run('dev', 'echo out; echo err >&2')
  expect([stdout.toString(), stderr]).toEqual(['out\n', 'err\n'])
})

test('EOF on standard input reaches the command', async () => {
  const { status, stdout } = await ssh.run('dev', 'wc -c', { stdin: 'x\n' })
  expect([status, stdout.toString().trim()]).toEqual([0, '2'])
})

test('32 MB are transferred in both directions unchanged', { tags: ['long'] }, async () => {
  const data = randomBytes(32 * 2 ** 20)
  const { status, stdout, stderr } = await ssh.run('dev', 'tee >(sha256sum >&2)', { stdin: data })
  const hash = createHash('sha256').update(data).digest('hex')
  expect([status, createHash('sha256').update(stdout).digest('hex')]).toEqual([0, hash])
  expect(stderr).toContain(hash)
})

test('a command that reads none of its input does not hang', async () => {
  expect(await ssh.run('dev', 'exit 4', { stdin: Buffer.alloc(8 * 2 ** 20) })).toMatchObject({ status: 4 })
})

test('S4 only a client’s language variables are accepted', async () => {
  const names = ['LANG', 'LC_ALL', 'LC_TIME', 'LD_PRELOAD', 'FOO', 'PATH', 'BASH_ENV']
  const environment = {
    LANG: 'C.UTF-8',
    LC_ALL: 'C',
    LC_TIME: 'POSIX',
    LD_PRELOAD: '/nowhere.so',
    FOO: 'bar',
    BASH_ENV: '/nowhere',
  }
  const set = Object.entries(environment).map(([name, value]) => `SetEnv=${name}=${value}`)
  const { stdout } = await ssh.run('dev', 'env', {
    flags: ['-o', `SetEnv=${set.join(' ').replaceAll('SetEnv=', '')}`],
  })
  const got = new Map(
    stdout
      .toString()
      .split('\n')
      .map((line) => line.split('=', 2) as [string, string]),
  )
  expect(names.map((name) => got.get(name))).toEqual([
    'C.UTF-8',
    'C',
    'POSIX',
    undefined,
    undefined,
    '/usr/bin:/bin',
    undefined,
  ])
})

test.each([
  ['LC_V1', true],
  ['LC_MY_TOKEN', true],
  ['LC_lower', true],
  ['LC_', true],
  ['LC', false],
  ['XLC_ALL', false],
  ['LC_A-B', false],
  ['LANGUAGE', false],
])('S4 a client that sets %s: %s', async (name, isTaken) => {
  const { stdout } = await ssh.run('dev', 'env', { flags: ['-o', `SetEnv=${name}=value`] })
  expect(stdout.toString().split('\n').includes(`${name}=value`)).toBe(isTaken)
})

test('the user and the connection are in the environment', async () => {
  const { stdout } = await ssh.run(
    'dev',
    'echo "$USER $LOGNAME"; echo "$HOME"; echo "$SHELL"; echo "$SSH_CONNECTION"; echo "$SSH_CLIENT"',
  )
  const [users, home, shell, connection, client] = stdout.toString().split('\n')
  const login = await backend.loginEnvironment('dev')
  expect([users, home, shell]).toEqual([`${login.user} ${login.user}`, login.home, login.shell])
  expect(connection).toMatch(new RegExp(`^127\\.0\\.0\\.1 \\d+ 127\\.0\\.0\\.1 ${server.sshPort}$`))
  expect(client).toMatch(new RegExp(`^127\\.0\\.0\\.1 \\d+ ${server.sshPort}$`))
})

test('a user name is case-insensitive', async () => {
  expect(await ssh.run('DEV', 'exit 9')).toMatchObject({ status: 9 })
})

test.each([
  ['absent', 'workspace "absent" does not exist; run "workspace list" to see the existing ones'],
  ['_api', '"_api" is a reserved name, not a workspace'],
  ['a_b', 'workspace name "a_b" must be 1 to 63 letters'],
  ['halted', 'workspace "halted" is stopped; start it with: workspace start halted'],
  ['broken', 'workspace "broken" is broken (its disk is missing); start it with: workspace start broken'],
])('a session of %s exits with 255 and reports why', async (user, message) => {
  const { status, stdout, stderr } = await ssh.run(user, 'echo never')
  expect([status, stdout.toString()]).toEqual([255, ''])
  expect(stderr).toContain(message)
})

test('a session reports that its program cannot be started', async () => {
  backend.before.set('exec', () => {
    throw new Error('secret of the machine')
  })
  onTestFinished(() => void backend.before.delete('exec'))
  const { status, stderr } = await ssh.run('dev', 'true')
  expect([status, stderr]).toEqual([255, 'the session failed; see the server log\r\n'])
})

test('a client that disconnects leaves no process behind', async () => {
  const mark = `3${randomBytes(4).readUInt32BE()}`
  const client = spawn('ssh', [...ssh.argv('dev'), `sleep ${mark} & sleep ${mark}`], { stdio: 'ignore' })
  await waitFor('both programs', () => countProcesses(mark) === 2)
  client.kill('SIGKILL')
  await expect.poll(() => countProcesses(mark)).toBe(0)
})

test('a client that disconnects before its program starts leaves no process behind', async () => {
  const mark = `3${randomBytes(4).readUInt32BE()}`
  let isAsked = false
  const gone = Promise.withResolvers<void>()
  backend.before.set('exec', () => {
    isAsked = true
    return gone.promise
  })
  onTestFinished(() => void backend.before.delete('exec'))
  const client = spawn('ssh', [...ssh.argv('dev'), `echo begun; sleep ${mark}`], { stdio: 'ignore' })
  await waitFor('the session', () => isAsked)
  client.kill('SIGKILL')
  await waitFor('the server to notice', () => sshConnections() === 0)
  started.length = 0
  gone.resolve()
  await waitFor('the program', () => started.length === 1)
  expect(await started[0]?.exitStatus).toEqual({ status: 129, signal: 'SIGHUP' })
})

/** Counts the workspace programs, not ssh clients, whose arguments contain the marker. */
function countProcesses(mark: string): number {
  const lines = execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' }).split('\n')
  return lines.filter((line) => line === `sleep ${mark}`).length
}

function sshConnections(): number {
  const port = server.sshPort.toString(16).toUpperCase().padStart(4, '0')
  const lines = readFileSync('/proc/net/tcp', 'utf8').split('\n')
  return lines.filter((line) => line.includes(` 0100007F:${port} `) && line.split(/\s+/)[4] === '01').length
}
