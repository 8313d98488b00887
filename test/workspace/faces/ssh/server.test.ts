import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import ssh2, { type Client } from '../../../../src/lib/ssh/ssh2.ts'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { openSsh, type OpenSsh, runProgram } from '../../../support/workspace/ssh/open-ssh.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import {
  makeWorkspace,
  startWorkspaceServer,
  type TestServer,
} from '../../../support/workspace/server/test-server.ts'

let server: TestServer
let ssh: OpenSsh
const backend = new FakeBackend()

beforeAll(async () => {
  server = await startWorkspaceServer({
    backends: () => [backend],
    settings: { tunnel: { deny_ports: [499] } },
  })
  ssh = await openSsh(server)
  await makeWorkspace(server.url, { name: 'dev' })
})
afterAll(async () => {
  ssh.remove()
  await server.stop()
})

async function loggedIn(): Promise<Client> {
  const client = new ssh2.Client()
  onTestFinished(() => void client.destroy())
  client.connect({
    host: '127.0.0.1',
    port: server.sshPort,
    username: 'dev',
    privateKey: readFileSync(ssh.keyFile),
    // Otherwise ssh2 refuses to send OpenSSH's extensions.
    strictVendor: false,
  })
  await once(client, 'ready')
  return client
}

const statusOf = (client: Client, command: string) =>
  new Promise<number>((resolve, reject) => {
    client.exec(command, (error, channel) => {
      if (error) return reject(error)
      channel.on('exit', (status: number) => resolve(status)).resume()
    })
  })

/** Returns the status, signal and core dump flag that the client receives. */
const endingOf = (client: Client, command: string) =>
  new Promise<readonly unknown[]>((resolve, reject) => {
    client.exec(command, (error, channel) => {
      if (error) return reject(error)
      channel.on('exit', (...details: readonly unknown[]) => resolve(details.slice(0, 3))).resume()
    })
  })

/** Returns the server's refusal of a request, or undefined if it was accepted. */
const refusalOf = (ask: (done: (error?: Error | null) => void) => void) =>
  new Promise<string | undefined>((resolve) => ask((error) => resolve(error?.message)))

test('S3 only three exact host names are forwarded, and no other is looked up or dialed', async () => {
  const dialled: number[] = []
  const dial = vi.spyOn(backend, 'dial').mockImplementation((_name, port) => {
    dialled.push(port)
    return Promise.resolve(new PassThrough())
  })
  onTestFinished(() => dial.mockRestore())
  const client = await loggedIn()
  const hosts = [
    ['localhost', true],
    ['LocalHost', true],
    ['127.0.0.1', true],
    ['::1', true],
    ['127.1', false],
    ['0x7f.1', false],
    ['2130706433', false],
    ['0.0.0.0', false],
    ['169.254.169.254', false],
    ['localhost.evil.com', false],
    ['localhost.', false],
    ['127.0.0.1 ', false],
    ['::ffff:127.0.0.1', false],
    ['10.0.0.1', false],
    ['::', false],
    ['', false],
  ] as const
  for (const [index, [name, isAllowed]] of hosts.entries()) {
    const refusal = await refusalOf((done) => client.forwardOut('127.0.0.1', 1, name, 1000 + index, done))
    expect([name, refusal === undefined]).toEqual([name, isAllowed])
  }
  expect(dialled).toEqual([1000, 1001, 1002, 1003])
  expect(await refusalOf((done) => client.forwardOut('127.0.0.1', 1, 'localhost', 0, done))).toBeDefined()
  expect(
    await refusalOf((done) => client.forwardOut('127.0.0.1', 1, 'localhost', 65_536, done)),
  ).toBeDefined()
})

describe('a refused channel reports why', () => {
  /** Returns the reason code and message of a refused open request. */
  const refusal = (ask: (done: (error?: (Error & { reason?: number }) | null) => void) => void) =>
    new Promise<readonly unknown[]>((resolve) => ask((error) => resolve([error?.reason, error?.message])))

  test('a forward to another host or a denied port is prohibited', async () => {
    const client = await loggedIn()
    expect(await refusal((done) => client.forwardOut('127.0.0.1', 1, '10.0.0.1', 80, done))).toEqual([
      1,
      expect.stringContaining('forwards reach only ports of the workspace itself'),
    ])
    expect(await refusal((done) => client.forwardOut('127.0.0.1', 1, 'localhost', 499, done))).toEqual([
      1,
      expect.stringContaining('499'),
    ])
  })

  test('a closed port cannot be connected to', async () => {
    const client = await loggedIn()
    expect(await refusal((done) => client.forwardOut('127.0.0.1', 1, 'localhost', 1, done))).toEqual([
      2,
      expect.stringContaining('port 1 cannot be reached'),
    ])
  })

  test('an unsupported channel type is prohibited', async () => {
    const client = await loggedIn()
    expect(await refusal((done) => client.openssh_forwardOutStreamLocal('/run/x', done))).toEqual([
      1,
      expect.stringContaining('does not open channels of this type'),
    ])
  })

  test('the 101st session is refused', { tags: ['long'] }, async () => {
    const client = await loggedIn()
    const open = () =>
      new Promise<ssh2.ClientChannel>((resolve, reject) => {
        client.exec('cat', (error, channel) => (error ? reject(error) : resolve(channel)))
      })
    const sessions = await Promise.all(Array.from({ length: 100 }, open))
    expect(await refusal((done) => client.exec('cat', done))).toEqual([
      4,
      expect.stringContaining('a connection can have at most 100 sessions'),
    ])
    await Promise.all(sessions.map((session) => once(session.resume().end(), 'close')))
    expect(await statusOf(client, 'exit 7')).toBe(7)
  })

  test('OpenSSH shows the message', async () => {
    const { status, stderr } = await ssh.run('dev', 'true', {
      flags: ['-o', 'LogLevel=INFO', '-W', '10.0.0.1:80'],
    })
    expect(status).toBe(255)
    expect(stderr).toContain('administratively prohibited: forwards reach only ports of the workspace itself')
  })
})

test('S4 every other forwarding is refused and the connection continues', async () => {
  const client = await loggedIn()
  expect(await refusalOf((done) => client.forwardIn('127.0.0.1', 0, done))).toBeDefined()
  expect(
    await refusalOf((done) => client.openssh_forwardOutStreamLocal('/var/run/docker.sock', done)),
  ).toBeDefined()
  expect(
    await refusalOf((done) => client.openssh_forwardInStreamLocal(join(tempDir(), 'socket'), done)),
  ).toBeDefined()
  expect(await refusalOf((done) => client.exec('true', { x11: true }, done))).toBeDefined()
  expect(await statusOf(client, 'exit 7')).toBe(7)
})

test('S4 OpenSSH with agent and X11 forwarding enabled runs its command without them', async () => {
  const { status, stdout } = await ssh.run('dev', 'echo "${SSH_AUTH_SOCK-none} ${DISPLAY-none}"', {
    flags: ['-A', '-X', '-o', 'ExitOnForwardFailure=no'],
    environment: { SSH_AUTH_SOCK: join(tempDir(), 'agent'), DISPLAY: ':99' },
  })
  expect([status, stdout.toString()]).toEqual([0, 'none none\n'])
})

test('a connection carries several commands at once', async () => {
  const client = await loggedIn()
  const statuses = await Promise.all(
    Array.from({ length: 8 }, (_, index) => statusOf(client, `exit ${index}`)),
  )
  expect(statuses).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
})

test.each([
  ['KexAlgorithms', 'diffie-hellman-group-exchange-sha256'],
  ['KexAlgorithms', 'diffie-hellman-group14-sha256'],
  ['KexAlgorithms', 'ecdh-sha2-nistp256'],
  ['Ciphers', 'aes128-ctr'],
  ['Ciphers', '3des-cbc'],
  ['MACs', 'hmac-sha1'],
  ['HostKeyAlgorithms', 'rsa-sha2-512'],
])('S6 a client that supports only %s=%s is refused', async (kind, algorithm) => {
  // Authenticated ciphers need no MAC.
  const flags = kind === 'MACs' ? ['-o', 'Ciphers=aes256-ctr'] : []
  const { status, stderr } = await ssh.run('dev', 'true', {
    flags: ['-o', `${kind}=${algorithm}`, '-o', 'LogLevel=INFO', ...flags],
  })
  expect(status).toBe(255)
  expect(stderr).toMatch(/Unable to negotiate.*no matching/)
})

test.each([
  'aes128-gcm@openssh.com',
  'aes256-gcm@openssh.com',
  'chacha20-poly1305@openssh.com',
  'aes256-ctr',
])('S6 a client that supports only %s is served', async (cipher) => {
  const { status, stdout } = await ssh.run('dev', 'wc -c', {
    flags: ['-o', `Ciphers=${cipher}`],
    stdin: Buffer.alloc(1_000_000),
  })
  expect([status, stdout.toString().trim()]).toEqual([0, '1000000'])
})

test.each(['hmac-sha2-256', 'hmac-sha2-512'])(
  'S6 a client without encrypt-then-MAC, as libssh2 1.10, is served with %s',
  async (mac) => {
    const flags = ['-o', 'Ciphers=aes256-ctr', '-o', `MACs=${mac}`]
    const { status, stdout } = await ssh.run('dev', 'wc -c', { flags, stdin: Buffer.alloc(1_000_000) })
    expect([status, stdout.toString().trim()]).toEqual([0, '1000000'])
  },
)

test('S6 a client that supports both uses encrypt-then-MAC', async () => {
  const flags = [
    '-v',
    '-o',
    'LogLevel=DEBUG1',
    '-o',
    'Ciphers=aes256-ctr',
    '-o',
    'MACs=hmac-sha2-512-etm@openssh.com,hmac-sha2-256',
  ]
  const { stderr } = await ssh.run('dev', 'true', { flags })
  expect(stderr).toMatch(/server->client cipher: aes256-ctr MAC: hmac-sha2-512-etm@openssh\.com/)
})

test('the log reports why a handshake failed', async () => {
  const flags = ['-o', 'Ciphers=aes256-ctr', '-o', 'MACs=hmac-sha1']
  expect((await ssh.run('dev', 'true', { flags })).status).toBe(255)
  const lines = server
    .log()
    .split('\n')
    .filter((line) => line.includes('SSH connection failed'))
  expect(JSON.parse(lines.at(-1) ?? '{}')).toMatchObject({
    level: 40,
    address: '127.0.0.1',
    msg: expect.stringMatching(/no matching C->S MAC/) as unknown,
  })
})

test('S6 ssh-audit reports no failures and strict key exchange', async () => {
  const { stdout } = await runProgram('ssh-audit', ['--no-colors', '-p', String(server.sshPort), '127.0.0.1'])
  const report = stdout.toString()
  expect(report.split('\n').filter((line) => line.includes('[fail]'))).toEqual([])
  expect(report).toContain('kex-strict-s-v00@openssh.com')
  expect(report).toContain('curve25519-sha256')
})

test('the signal that killed a command is reported by name if SSH defines one', async () => {
  const client = await loggedIn()
  expect(await endingOf(client, 'kill -TERM $$')).toEqual([null, 'SIGTERM', false])
  expect(await endingOf(client, 'kill -KILL $$')).toEqual([null, 'SIGKILL', false])
  expect(await endingOf(client, 'ulimit -c 0; kill -BUS $$')).toEqual([135])
  expect(await endingOf(client, 'exit 143')).toEqual([143])
})
