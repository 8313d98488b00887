import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { readSecurityKey, verifySecurityKey } from '../../../src/lib/ssh/security-key.ts'
import { securityKey, sshString } from '../../support/workspace/ssh/software-agent.ts'

/** A key, and signatures as ssh2 reports them: without their type. */
function pair(algorithm: 'ed25519' | 'ecdsa', flags?: number) {
  const own = securityKey(algorithm, flags === undefined ? {} : { flags })
  const key = readSecurityKey(own.type, own.blob)
  if (key === undefined) throw new Error('not a security key')
  const head = 4 + own.type.length + 4
  return { own, key, sign: (data: Buffer) => own.sign(data).subarray(head) }
}

test.each(['ed25519', 'ecdsa'] as const)('all signatures of %s are valid', (algorithm) => {
  const { key, sign } = pair(algorithm)
  const data = Array.from({ length: 500 }, () => randomBytes(40))
  expect(data.filter((each) => verifySecurityKey(key, each, sign(each)) !== 'valid')).toEqual([])
})

test.each(['ed25519', 'ecdsa'] as const)('S1 a signature of %s with any change is invalid', (algorithm) => {
  const { key, sign } = pair(algorithm)
  const data = Buffer.from('data')
  const signature = sign(data)
  for (let at = 0; at < signature.length; at++) {
    const changed = Buffer.from(signature)
    changed.writeUInt8(changed.readUInt8(at) ^ 0x40, at)
    expect([at, verifySecurityKey(key, data, changed)]).toEqual([at, 'invalid'])
    expect([at, verifySecurityKey(key, data, signature.subarray(0, at))]).toEqual([at, 'invalid'])
  }
  expect(verifySecurityKey(key, Buffer.from('date'), signature)).toBe('invalid')
  expect(verifySecurityKey(pair(algorithm).key, data, signature)).toBe('invalid')
})

test.each(['ed25519', 'ecdsa'] as const)(
  'a signature of %s without a touch is reported as such',
  (algorithm) => {
    for (const [flags, verdict] of [
      [0x00, 'untouched'],
      [0x04, 'untouched'],
      [0x05, 'valid'],
    ] as const) {
      const { key, sign } = pair(algorithm, flags)
      const data = Buffer.from('data')
      expect(verifySecurityKey(key, data, sign(data))).toBe(verdict)
    }
  },
)

test('a blob with any byte too few or too many is refused', () => {
  for (const algorithm of ['ed25519', 'ecdsa'] as const) {
    const { own } = pair(algorithm)
    for (let length = 0; length < own.blob.length; length++)
      expect(() => readSecurityKey(own.type, own.blob.subarray(0, length))).toThrow(/./)
    for (const excess of [Buffer.from('x'), sshString('x')])
      expect(() => readSecurityKey(own.type, Buffer.concat([own.blob, excess]))).toThrow(/./)
  }
  expect(readSecurityKey('ssh-ed25519', Buffer.alloc(0))).toBeUndefined()
})
