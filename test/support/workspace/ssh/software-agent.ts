import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { tempDir } from '../../temp-dir.ts'

/** A key of a `softwareAgent`. */
export interface AgentKey {
  readonly blob: Buffer
  /** Returns a signature in SSH's format: its type, and what belongs to it. */
  readonly sign: (data: Buffer) => Buffer
}

/** A security key that a test signs with. */
export interface TestSecurityKey extends AgentKey {
  readonly type: string
  /** As in a .pub file. */
  readonly line: string
}

/** Flag of an authenticator that its user touched. */
const TOUCHED = 0x01
/** Flag of an authenticator that has verified its user, as by a PIN. */
export const VERIFIED = 0x04

const FAILURE = 5
const REQUEST_IDENTITIES = 11
const IDENTITIES = 12
const SIGN_REQUEST = 13
const SIGNATURE = 14

/** Encodes a length-prefixed string. */
export function sshString(bytes: Buffer | string): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(Buffer.byteLength(bytes))
  return Buffer.concat([length, Buffer.from(bytes as string)])
}

/** Creates a key of a FIDO authenticator that reports the given flags. Source: PROTOCOL.u2f of OpenSSH. */
export function securityKey(
  algorithm: 'ed25519' | 'ecdsa',
  { flags = TOUCHED, application = 'ssh:' }: { readonly flags?: number; readonly application?: string } = {},
): TestSecurityKey {
  const isEd = algorithm === 'ed25519'
  const type = isEd ? 'sk-ssh-ed25519@openssh.com' : 'sk-ecdsa-sha2-nistp256@openssh.com'
  const { publicKey, privateKey } = isEd
    ? generateKeyPairSync('ed25519')
    : generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const [left, right] = [Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]
  const point = isEd
    ? [sshString(left)]
    : [sshString('nistp256'), sshString(Buffer.concat([Buffer.from([4]), left, right]))]
  const blob = Buffer.concat([sshString(type), ...point, sshString(application)])
  const trailer = Buffer.from([flags, 0, 0, 0, 7])
  return {
    type,
    blob,
    line: `${type} ${blob.toString('base64')} token`,
    sign(data) {
      const message = Buffer.concat([sha256(Buffer.from(application)), trailer, sha256(data)])
      const signature = isEd ? sign(null, message, privateKey) : numbersOf(privateKey, message)
      return Buffer.concat([sshString(type), sshString(signature), trailer])
    },
  }
}

/** Serves the protocol of ssh-agent until the end of the test. Returns the path of its socket. */
export async function softwareAgent(keys: readonly AgentKey[]): Promise<string> {
  const path = join(tempDir(), 'agent')
  const server = createServer((socket) => {
    let pending = Buffer.alloc(0)
    socket.on('error', () => undefined)
    socket.on('data', (chunk: Buffer) => {
      pending = Buffer.concat([pending, chunk])
      while (pending.length >= 4 && pending.length >= 4 + pending.readUInt32BE(0)) {
        const end = 4 + pending.readUInt32BE(0)
        socket.write(sshString(answer(keys, pending.subarray(4, end))))
        pending = pending.subarray(end)
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(path, resolve))
  onTestFinished(() => void server.close())
  return path
}

function answer(keys: readonly AgentKey[], request: Buffer): Buffer {
  if (request[0] === REQUEST_IDENTITIES) {
    const count = Buffer.alloc(4)
    count.writeUInt32BE(keys.length)
    const list = keys.flatMap(({ blob }) => [sshString(blob), sshString('key')])
    return Buffer.concat([Buffer.from([IDENTITIES]), count, ...list])
  }
  if (request[0] !== SIGN_REQUEST) return Buffer.from([FAILURE])
  const keyEnd = 5 + request.readUInt32BE(1)
  const blob = request.subarray(5, keyEnd)
  const data = request.subarray(keyEnd + 4, keyEnd + 4 + request.readUInt32BE(keyEnd))
  const key = keys.find((each) => each.blob.equals(blob))
  if (key === undefined) return Buffer.from([FAILURE])
  return Buffer.concat([Buffer.from([SIGNATURE]), sshString(key.sign(data))])
}

/** Returns ECDSA's two numbers as SSH writes them. */
function numbersOf(key: KeyObject, message: Buffer): Buffer {
  const both = sign('sha256', message, { key, dsaEncoding: 'ieee-p1363' })
  return Buffer.concat([both.subarray(0, 32), both.subarray(32)].map((number) => sshString(positive(number))))
}

/** Removes leading zeros, and adds one where the number would look negative. */
function positive(number: Buffer): Buffer {
  const first = number.findIndex((byte) => byte !== 0)
  const digits = number.subarray(first)
  return (digits[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.from([0]), digits]) : digits
}

function sha256(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest()
}
