import { generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { fingerprintOf } from '../../../src/lib/ssh/fingerprint.ts'
import { parsePublicKey } from '../../../src/lib/ssh/public-key.ts'
import { securityKey, sshString } from '../../support/workspace/ssh/software-agent.ts'

const { x = '' } = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
const blob = Buffer.concat([sshString('ssh-ed25519'), sshString(Buffer.from(x, 'base64url'))])
const KEY = `ssh-ed25519 ${blob.toString('base64')}`

test.each(['ed25519', 'ecdsa'] as const)('the .pub file of a security key of type %s is read', (type) => {
  const { line, blob: expected } = securityKey(type)
  const publicKey = line.replace(/ token$/, '')
  expect(parsePublicKey(`${line}\n`)).toEqual({ publicKey, fingerprint: fingerprintOf(expected) })
})

test.each([
  ['nothing', '', 'it is not a line such as'],
  ['two keys', `${KEY} ann\n${KEY}`, 'it is not a line such as'],
  ['options', `restrict ${KEY}`, 'it is not a line such as'],
  ['a private key', '-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA', 'it is not a line such as'],
  ['a certificate', 'ssh-rsa-cert-v01@openssh.com AAAA', 'is a certificate'],
  ['a type that is a property', '__proto__ AAAA', 'it is not a line such as'],
  ['a damaged key', 'ssh-ed25519 AAAA', 'the ssh-ed25519 key is damaged'],
])('a .pub file with %s is refused with the reason', (_what, line, reason) => {
  expect(parsePublicKey(line)).toContain(reason)
})
