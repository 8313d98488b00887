import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { readFileSync } from 'node:fs'
import ssh2, {
  type AuthenticationType,
  type ConnectConfig,
  type ParsedKey,
} from '../../../../src/lib/ssh/ssh2.ts'
import { expect, onTestFinished, test } from 'vitest'
import { generateHostKey } from '../../../../src/workspace/faces/ssh/host-key.ts'
import { fingerprint, makeKey, publicKey, runProgram } from '../../../support/workspace/ssh/open-ssh.ts'
import { sshServer } from '../../../support/workspace/ssh/ssh-server.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { waitFor } from '../../../support/wait-for.ts'

/** An agent that signs with its own key, regardless of the key it offers. */
class LyingAgent extends ssh2.BaseAgent {
  readonly #offered: readonly ParsedKey[]
  readonly #sign: (data: Buffer) => Buffer

  constructor(offered: readonly ParsedKey[], sign: (data: Buffer) => Buffer) {
    super()
    this.#offered = offered
    this.#sign = sign
  }

  getIdentities(callback: (error: Error | undefined, keys?: ParsedKey[]) => void): void {
    callback(undefined, [...this.#offered])
  }

  override sign(_key: unknown, data: Buffer, options: unknown, callback?: unknown): void {
    const done = (typeof options === 'function' ? options : callback) as (
      error: undefined,
      made: Buffer,
    ) => void
    done(undefined, this.#sign(data))
  }
}

const key = (text: string | Buffer): ParsedKey => {
  const parsed = ssh2.utils.parseKey(text)
  if (parsed instanceof Error) throw parsed
  return parsed
}

const privateKey = generateHostKey()
const own = key(privateKey)

/** Logs in; resolves with 'ready' or the client's error. */
async function login(port: number, settings: ConnectConfig): Promise<string> {
  const client = new ssh2.Client()
  onTestFinished(() => void client.destroy())
  const outcome = new Promise<string>((resolve) => {
    client.on('ready', () => resolve('ready'))
    client.on('error', (error) => resolve(error.message))
    client.on('close', () => resolve('closed'))
  })
  client.connect({ host: '127.0.0.1', port, username: 'dev', ...settings })
  const result = await outcome
  client.end()
  return result
}

const verifiedLines = (lines: readonly string[]) => lines.filter((line) => line.includes('SSH key verified'))

test.each(['ed25519', 'rsa', 'ecdsa'])(
  'S1 a client that does not own the %s key it offers is refused',
  async (type) => {
    const { port, log } = await sshServer()
    const stolen = key(publicKey(makeKey(tempDir(), type)))
    const forger = key(readFileSync(makeKey(tempDir(), type)))
    const agent = new LyingAgent([stolen], (data) => {
      const signature = forger.sign(data, type === 'rsa' ? 'sha256' : undefined)
      if (signature instanceof Error) throw signature
      return signature
    })
    expect(await login(port, { agent, authHandler: ['agent'] })).not.toBe('ready')
    expect(verifiedLines(log())).toEqual([])
    expect(log().join('')).toContain('the signature is invalid')
  },
)

test('S1 an unusable key is refused', async () => {
  const { port, log } = await sshServer()
  const word = (bytes: Buffer) => Buffer.concat([Buffer.from([0, 0, 0, bytes.length]), bytes])
  const blobs = {
    'ssh-ed25519': [Buffer.alloc(31)],
    'ssh-rsa': [Buffer.from([0]), Buffer.from([0])],
    'ecdsa-sha2-nistp256': [Buffer.from('nistp256'), Buffer.concat([Buffer.from([4]), Buffer.alloc(64, 7)])],
  }
  for (const [type, parts] of Object.entries(blobs)) {
    const blob = Buffer.concat([word(Buffer.from(type)), ...parts.map(word)])
    const broken = Object.assign(Object.create(own) as ParsedKey, { type, getPublicSSH: () => blob })
    const agent = new LyingAgent([broken], () => Buffer.alloc(type === 'ssh-ed25519' ? 64 : 8, 1))
    expect(await login(port, { agent, authHandler: ['agent'] })).not.toBe('ready')
  }
  expect(verifiedLines(log())).toEqual([])
})

test.each([
  ['ed25519', []],
  ['rsa', ['-o', 'PubkeyAcceptedAlgorithms=rsa-sha2-256']],
  // OpenSSH's own choice: a missing comma keeps ssh2 1.17.0 from offering rsa-sha2-512.
  ['rsa', ['-o', 'PubkeyAcceptedAlgorithms=rsa-sha2-512,rsa-sha2-256']],
  ['ecdsa', []],
])('S1 the owner of an %s key is accepted and the key is logged (%o)', async (type, flags) => {
  const { port, log } = await sshServer()
  const file = makeKey(tempDir(), type)
  const argv = ['-F', '/dev/null', '-o', 'StrictHostKeyChecking=no', '-o', 'UserKnownHostsFile=/dev/null']
  const more = ['-o', 'IdentitiesOnly=yes', '-o', 'BatchMode=yes', '-i', file, '-p', String(port)]
  const { stderr } = await runProgram('ssh', [...argv, ...flags, ...more, 'dev@127.0.0.1', 'true'])
  // Authenticated, but the workspace does not exist.
  expect(stderr).toContain('workspace "dev" does not exist')
  expect(verifiedLines(log()).map((line) => JSON.parse(line))).toMatchObject([
    { workspace: 'dev', fingerprint: fingerprint(file), address: '127.0.0.1' },
  ])
})

test('S2 only public key authentication is accepted', async () => {
  const { port, log } = await sshServer()
  const ways: readonly ConnectConfig[] = [
    { authHandler: ['none'] },
    { authHandler: ['password'], password: 'secret' },
    { authHandler: ['keyboard-interactive'], tryKeyboard: true },
    { authHandler: ['none', 'password', 'keyboard-interactive'], password: '', tryKeyboard: true },
  ]
  for (const way of ways) expect(await login(port, way)).toContain('authentication methods failed')
  expect(log().join('')).not.toContain('secret')
})

test.each([
  ['that is a path upwards', '..'],
  ['that is a directory', '.'],
  ['with a slash', 'a/b'],
  ['with a line break', 'a\nb'],
  ['with a NUL', 'a\u0000b'],
  ['like an option', '-rf'],
  ['like a property', '__proto__'],
  ['like a method', 'constructor'],
  ['with an escape', '\u001b[31mred'],
  ['of 5,000 characters', 'x'.repeat(5_000)],
])('S2 a user name %s is refused and logged in one bounded line', async (_what, username) => {
  const { port, log } = await sshServer()
  const client = new ssh2.Client()
  onTestFinished(() => void client.destroy())
  client.connect({ host: '127.0.0.1', port, username, privateKey })
  await once(client, 'ready')
  const outcome = await new Promise<{ status: number; text: string }>((resolve, reject) => {
    client.exec('true', (error, channel) => {
      if (error) return reject(error)
      let text = ''
      channel.stderr.on('data', (chunk: Buffer) => (text += chunk.toString()))
      channel.on('close', (status: number) => resolve({ status, text }))
      channel.resume()
    })
  })
  expect(outcome.status).toBe(255)
  expect(outcome.text.length).toBeLessThan(400)
  // oxlint-disable-next-line no-control-regex -- it searches for control characters
  expect(outcome.text.trim()).not.toMatch(/[\u0000-\u001f]/)
  const lines = log().flatMap((chunk) => chunk.split('\n').filter((line) => line !== ''))
  expect(verifiedLines(lines)).toHaveLength(1)
  for (const line of lines) expect(line.length).toBeLessThan(1_000)
})

/** A grace period longer than any test, so that waiting for its end fails. */
const NEVER_MS = 3_600_000

/** Reads until the server closes the connection, without closing this side. */
async function stubborn(
  port: number,
  firstWords: string,
): Promise<{ socket: Socket; closed: Promise<unknown> }> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => undefined)
  socket.resume()
  const closed = Promise.race([once(socket, 'end'), once(socket, 'close')])
  await once(socket, 'connect')
  socket.write(firstWords)
  return { socket, closed }
}

test.each([
  ['sends nothing', ''],
  ['sends only its version', 'SSH-2.0-silent\r\n'],
  ['drips', 'SSH-2.'],
])('S5 a connection that %s is closed after the grace period', async (_what, firstWords) => {
  const graceMs = 500
  const { port } = await sshServer({ graceMs })
  const beganMs = performance.now()
  const { socket, closed } = await stubborn(port, firstWords)
  await closed
  expect(performance.now() - beganMs).toBeGreaterThan(graceMs - 50)
  // Not left half open: writing now causes a reset.
  await waitFor('the reset', () => socket.destroyed || !socket.write('x'))
})

test('S5 an authenticated connection is not closed after the grace period', async () => {
  const graceMs = 500
  const { port } = await sshServer({ graceMs })
  const client = new ssh2.Client()
  onTestFinished(() => void client.destroy())
  let isClosed = false
  client.on('close', () => (isClosed = true))
  client.connect({ host: '127.0.0.1', port, username: 'dev', privateKey })
  await once(client, 'ready')
  // When a connection opened now is closed, the login's grace period has also passed.
  const { closed } = await stubborn(port, '')
  await closed
  expect(isClosed).toBe(false)
})

test('S5 500 silent connections do not delay a login', async () => {
  const { port } = await sshServer({ graceMs: NEVER_MS })
  await Promise.all(Array.from({ length: 500 }, () => stubborn(port, '')))
  expect(await login(port, { privateKey })).toBe('ready')
})

test.each([
  ['passwords', { type: 'password', username: 'dev', password: 'guess' }],
  ['keys', { type: 'agent', username: 'dev' }],
] as const)('S5 the seventh %s closes the connection', async (_what, method) => {
  const { port, log } = await sshServer()
  const offered = Array.from({ length: 10 }, () => key(generateHostKey()))
  const agent = new LyingAgent(offered, (data) => own.sign(data))
  let asked = 0
  const result = await login(port, {
    agent,
    authHandler: ((_left: AuthenticationType[], _isPartial: boolean, next: (answer: unknown) => void) =>
      next(asked++ < 20 ? { ...method, agent } : false)) as never,
  })
  expect(result).not.toBe('ready')
  expect(asked).toBeLessThanOrEqual(7)
  expect(log().filter((line) => line.includes('did not prove')).length).toBeLessThanOrEqual(6)
})

test('S5 a stopping server does not wait for connected clients', async () => {
  const { server, port } = await sshServer({ graceMs: NEVER_MS })
  await stubborn(port, '')
  await stubborn(port, 'SSH-2.0-silent\r\n')
  await expect(server.stop()).resolves.toBeUndefined()
})

test('S1 the logged fingerprint is the SHA-256 of the key', async () => {
  const { port, log } = await sshServer()
  expect(await login(port, { privateKey })).toBe('ready')
  const digest = createHash('sha256').update(own.getPublicSSH()).digest('base64').replace(/=+$/, '')
  expect(verifiedLines(log()).map((line) => JSON.parse(line).fingerprint)).toEqual([`SHA256:${digest}`])
})
