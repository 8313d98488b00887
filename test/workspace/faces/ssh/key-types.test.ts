import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import ssh2, { type ParsedKey } from '../../../../src/lib/ssh/ssh2.ts'
import { listedKeys } from '../../../../src/workspace/faces/ssh/authorized-keys.ts'
import { generateHostKey } from '../../../../src/workspace/faces/ssh/host-key.ts'
import { makeKey, runProgram } from '../../../support/workspace/ssh/open-ssh.ts'
import {
  type AgentKey,
  securityKey,
  softwareAgent,
  sshString,
  VERIFIED,
} from '../../../support/workspace/ssh/software-agent.ts'
import { sshServer } from '../../../support/workspace/ssh/ssh-server.ts'
import { tempDir } from '../../../support/temp-dir.ts'

const ALARM = 'the signature is invalid'
const ALL_TYPES = 'PubkeyAcceptedAlgorithms=+ssh-dss,webauthn-sk-ecdsa-sha2-nistp256@openssh.com'

/** Logs in with OpenSSH's client; returns whether it succeeded. The workspace does not exist. */
async function logIn(port: number, flags: readonly string[]): Promise<boolean> {
  const options = ['StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null', 'BatchMode=yes', ALL_TYPES]
  // The first value of an option takes precedence.
  const argv = [...flags, '-F', '/dev/null', ...options.flatMap((option) => ['-o', option])]
  const { stderr } = await runProgram('ssh', [...argv, '-p', String(port), 'dev@127.0.0.1', 'true'])
  return stderr.includes('workspace "dev" does not exist')
}

const withAgent = async (keys: readonly AgentKey[]) => ['-o', `IdentityAgent=${await softwareAgent(keys)}`]

/** Returns the key of a .pub file, with which no test signs. */
const unsigned = (file: string): AgentKey => ({
  blob: Buffer.from(readFileSync(file, 'utf8').split(' ')[1] ?? '', 'base64'),
  sign: () => Buffer.alloc(0),
})

const keygen = (...argv: readonly string[]) => execFileSync('ssh-keygen', ['-q', ...argv])

/** Generates a key of a type with the given bits. Returns the private file's path. */
function keyOf(type: string, bits: number): string {
  const file = join(tempDir(), 'key')
  keygen('-t', type, '-b', String(bits), '-N', '', '-f', file)
  return file
}

test.each([
  ['ed25519', 256],
  ['ecdsa', 256],
  ['ecdsa', 384],
  ['ecdsa', 521],
  ['rsa', 1024],
  ['rsa', 2048],
])('a key of ssh-keygen -t %s -b %i logs in', async (type, bits) => {
  const file = keyOf(type, bits)
  const { port } = await sshServer({ keyRule: listedKeys(`${file}.pub`) })
  expect(await logIn(port, ['-o', 'IdentityAgent=none', '-i', file])).toBe(true)
})

test('an RSA key logs in with each of its signatures', { tags: ['long'] }, async () => {
  const file = keyOf('rsa', 2048)
  const { port } = await sshServer()
  for (const algorithm of ['rsa-sha2-512', 'rsa-sha2-256', 'ssh-rsa'])
    expect(await logIn(port, ['-o', `PubkeyAcceptedAlgorithms=${algorithm}`, '-i', file])).toBe(true)
})

test.each(['ed25519', 'ecdsa'] as const)('a security key of type %s logs in', async (type) => {
  const key = securityKey(type)
  const { port, log } = await sshServer({ keyRule: listed(key.line) })
  expect(await logIn(port, await withAgent([key]))).toBe(true)
  const own = securityKey(type, { application: 'ssh:work', flags: 1 | VERIFIED })
  expect(await logIn(port, await withAgent([own]))).toBe(false)
  const any = await sshServer()
  expect(await logIn(any.port, await withAgent([own]))).toBe(true)
  expect([...log(), ...any.log()].join('')).not.toContain(ALARM)
})

test.each(['ed25519', 'ecdsa'] as const)(
  'a security key of type %s that was not touched is refused',
  async (type) => {
    const { port, log, refusals } = await sshServer()
    expect(await logIn(port, await withAgent([securityKey(type, { flags: VERIFIED })]))).toBe(false)
    expect(log().join('')).toMatch(/SSH key refused: .*no touch/)
    expect(log().join('')).not.toContain(ALARM)
    expect(refusals).toEqual(['TOUCH_REQUIRED'])
  },
)

test.each(['ed25519', 'ecdsa'] as const)(
  'S1 a forged signature of a security key of type %s is an alarm',
  async (type) => {
    const [key, forger] = [securityKey(type), securityKey(type)]
    const { port, log, refusals } = await sshServer()
    const forgeries = [
      (data: Buffer) => forger.sign(data),
      (data: Buffer) => key.sign(Buffer.concat([data, Buffer.from('x')])),
      // The counter is signed, too.
      (data: Buffer) => changed(key.sign(data), -1),
      (data: Buffer) => changed(key.sign(data), -5),
      (data: Buffer) => key.sign(data).subarray(0, -1),
      () => Buffer.concat([sshString(key.type), sshString(''), Buffer.from([1, 0, 0, 0, 0])]),
      () => Buffer.concat([sshString(key.type), sshString(Buffer.alloc(64)), Buffer.from([1, 0, 0, 0, 0])]),
    ]
    for (const sign of forgeries) {
      const before = log().join('').split(ALARM).length
      expect(await logIn(port, await withAgent([{ blob: key.blob, sign }]))).toBe(false)
      expect(log().join('').split(ALARM).length).toBe(before + 1)
    }
    expect(new Set(refusals)).toEqual(new Set(['SIGNATURE_INVALID']))
  },
)

const CERTIFIED = ['ed25519', 'ecdsa', 'rsa', 'sk-ed25519', 'sk-ecdsa'] as const

/** A key with a certificate that is valid for everything. Returns both as agents' keys, and the public file. */
function certified(type: (typeof CERTIFIED)[number]) {
  const directory = tempDir()
  const file = join(directory, 'key')
  const security = type === 'sk-ed25519' ? 'ed25519' : type === 'sk-ecdsa' ? 'ecdsa' : undefined
  const key = security && securityKey(security)
  if (key === undefined) keygen('-t', type, ...(type === 'rsa' ? ['-b', '2048'] : []), '-N', '', '-f', file)
  else writeFileSync(`${file}.pub`, `${key.line}\n`)
  keygen('-s', makeKey(directory, 'ed25519', 'ca'), '-I', 'me', '-n', 'dev', '-V', '+1h', `${file}.pub`)
  return { file, key, certificate: unsigned(`${file}-cert.pub`) }
}

test.each(CERTIFIED)('a certificate of type %s is refused by name and without an alarm', async (type) => {
  const { file, key, certificate } = certified(type)
  const { port, log, refusals } = await sshServer({ keyRule: listedKeys(`${file}.pub`) })
  expect(await logIn(port, await withAgent([certificate]))).toBe(false)
  expect(log().join('')).toMatch(
    /SSH key refused: \\"[\w@.-]+-cert-v01@openssh.com\\" is a certificate.*plain key/,
  )
  expect(refusals).toEqual(['KEY_UNSUPPORTED'])
  // OpenSSH offers the certificate beside the key first.
  const flags = key === undefined ? ['-i', file] : await withAgent([certificate, key])
  expect(await logIn(port, flags)).toBe(true)
  expect(log().join('')).not.toContain(ALARM)
  expect(refusals).toEqual(['KEY_UNSUPPORTED'])
})

test('a plain key logs in after as many certificates as OpenSSH permits', async () => {
  const certificates = Array.from({ length: 5 }, () => certified('sk-ed25519').certificate)
  const key = securityKey('ed25519')
  const { port } = await sshServer()
  expect(await logIn(port, await withAgent([...certificates, key]))).toBe(true)
})

test('a DSA key is refused by name and without an alarm', async () => {
  const file = keyOf('dsa', 1024)
  const { port, log, refusals } = await sshServer()
  expect(await logIn(port, ['-i', file])).toBe(false)
  expect(log().join('')).toContain('SSH key refused: ssh-dss keys are too weak')
  expect(log().join('')).not.toContain(ALARM)
  expect(refusals).toEqual(['KEY_UNSUPPORTED'])
})

const type = (name: string, ...parts: readonly (Buffer | string)[]) =>
  [name, Buffer.concat([name, ...parts].map((part) => sshString(part)))] as const
const security = securityKey('ed25519')
const point = Buffer.concat([Buffer.from([4]), Buffer.alloc(64, 7)])
const huge = Buffer.from([0xff, 0xff, 0xff, 0xff])

test.each([
  ['of an unknown type', type('ssh-future', 'x'), 'key type \\"ssh-future\\" is not supported'],
  ['with a type that is a property', type('__proto__', 'x'), 'is not supported'],
  [
    'of a browser',
    type('webauthn-sk-ecdsa-sha2-nistp256@openssh.com', 'nistp256', point, 'ssh:'),
    'is not supported',
  ],
  ['with a long type', type('x'.repeat(30_000), 'x'), 'is not supported'],
  ['without bytes', ['ssh-ed25519', Buffer.alloc(0)] as const, 'is damaged'],
  [
    'with a length beyond its end',
    ['ssh-ed25519', Buffer.concat([sshString('ssh-ed25519'), huge])] as const,
    'damaged',
  ],
  ['with a short point', type('ssh-ed25519', Buffer.alloc(31)), 'is damaged'],
  ['with excess bytes', type('ssh-ed25519', Buffer.alloc(32, 1), 'x'), 'is damaged'],
  ['of another type than its name', ['ssh-ed25519', type('ssh-rsa', 'x', 'y')[1]] as const, 'is damaged'],
  ['of RSA without numbers', type('ssh-rsa', '', ''), 'is damaged'],
  [
    'of RSA with few bits',
    type('ssh-rsa', Buffer.from([1, 0, 1]), Buffer.alloc(64, 0x7f)),
    'RSA keys of 511 bits',
  ],
  ['of ECDSA with a point off the curve', type('ecdsa-sha2-nistp256', 'nistp256', point), 'is damaged'],
  ['of ECDSA with another curve', type('ecdsa-sha2-nistp256', 'nistp384', point), 'is damaged'],
  [
    'of a security key without an application',
    type('sk-ssh-ed25519@openssh.com', Buffer.alloc(32)),
    'is damaged',
  ],
  [
    'of a security key with excess bytes',
    [security.type, Buffer.concat([security.blob, Buffer.from('x')])] as const,
    'damaged',
  ],
  [
    'of a security key with a huge length',
    [security.type, Buffer.concat([sshString(security.type), huge])] as const,
    'damaged',
  ],
  [
    'of a security key off the curve',
    type('sk-ecdsa-sha2-nistp256@openssh.com', 'nistp256', point, 'ssh:'),
    'damaged',
  ],
])('a key %s is refused without an alarm', async (_what, [name, blob], message) => {
  const { port, log, refusals } = await sshServer()
  const own = ssh2.utils.parseKey(generateHostKey())
  if (own instanceof Error) throw own
  const offered = Object.assign(Object.create(own) as ParsedKey, { type: name, getPublicSSH: () => blob })
  const agent = new (class extends ssh2.BaseAgent {
    getIdentities(callback: (error: Error | undefined, keys?: ParsedKey[]) => void): void {
      callback(undefined, [offered])
    }
    sign(): void {
      throw new Error('asked to sign')
    }
  })()
  const client = new ssh2.Client()
  onTestFinished(() => void client.destroy())
  const outcome = new Promise<string>((resolve) => {
    client.on('ready', () => resolve('ready')).on('error', (error) => resolve(error.message))
  })
  client.connect({ host: '127.0.0.1', port, username: 'dev', agent, authHandler: ['agent'] })
  expect(await outcome).toContain('authentication methods failed')
  expect(log().join('')).toContain(message)
  for (const line of log().flatMap((text) => text.split('\n'))) expect(line.length).toBeLessThan(1_000)
  expect(log().filter((line) => (JSON.parse(line) as { level: number }).level > 30)).toEqual([])
  await expect.poll(() => refusals).toEqual(['KEY_UNSUPPORTED'])
})

function listed(line: string) {
  const file = join(tempDir(), 'keys')
  writeFileSync(file, `${line}\n`)
  return listedKeys(file)
}

/** Flips a bit of a byte, counted from the end. */
function changed(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes)
  const index = copy.length + at
  copy[index] = (copy[index] ?? 0) ^ 0x80
  return copy
}
