import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { listedKeys, readAuthorizedKeys } from '../../../../src/workspace/faces/ssh/authorized-keys.ts'
import { securityKey, sshString } from '../../../support/workspace/ssh/software-agent.ts'
import { tempDir } from '../../../support/temp-dir.ts'

const TYPE = 'ssh-ed25519'
const { x = '' } = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
const blob = Buffer.concat([sshString(TYPE), sshString(Buffer.from(x, 'base64url'))])
const base64 = blob.toString('base64')
const KEY = `${TYPE} ${base64}`

/** Decides about the key in a file with one line, after one that admits nobody. */
async function decide(line: string) {
  const file = join(tempDir(), 'keys')
  writeFileSync(file, `# keys\n${line}\n`)
  const { ignored } = await readAuthorizedKeys(file)
  return { decision: await listedKeys(file)(blob), messages: ignored.map(({ message }) => message), file }
}

// OpenSSH 9.2 admits the key of each line.
test.each([
  ['plain', KEY],
  ['with a comment', `${KEY} ann@laptop`],
  ['with quotes in its comment', `${KEY} "ann`],
  ['indented', `  \t${KEY}`],
  ['with tabs', `${TYPE}\t${base64}\tann`],
  ['with blanks', `${TYPE}   ${base64}`],
  ['of Windows', `${KEY}\r`],
  ['after one that is no key', `hello world\n${KEY}`],
  ['after a damaged one', `${TYPE} AAAA!!!\n${KEY}`],
  ['after one that is cut off', `${TYPE} ${base64.slice(0, -8)}\n${KEY}`],
  ['after one of SSH 1', `2048 35 1234567 ann\n${KEY}`],
  ['after an open quotation mark', `command="echo ${KEY}\n${KEY}`],
  ['after a key of an unknown type', `ssh-future AAAA\n${KEY}`],
  ['after a damaged security key', `sk-ssh-ed25519@openssh.com ${base64}\n${KEY}`],
  ['before a security key', `${KEY}\n${securityKey('ecdsa').line}`],
])('a line %s admits its key', async (_what, line) => {
  expect((await decide(line)).decision).toEqual({ is: 'allowed' })
})

test.each([
  ['restrict', 'restrict', 'options (restrict) are not supported'],
  ['several', 'command="echo \\"a, b\\" c",no-pty,from="10.0.0.1"', 'options (command,no-pty,from) are not'],
  ['one of a certificate authority', 'cert-authority', 'options (cert-authority) are not supported'],
  ['one that OpenSSH does not know', 'no-such-option', 'options (no-such-option) are not supported'],
])(
  'a line with options (%s) admits nobody, and both its report and a refused login name them',
  async (_what, options, why) => {
    const { decision, messages, file } = await decide(`${options} ${KEY} ann`)
    expect(messages).toEqual([expect.stringContaining(`${file} line 2 is ignored: ${why}`)])
    expect(decision).toEqual({ is: 'refused', reason: messages[0] })
  },
)

const certificate = Buffer.concat([sshString('ssh-ed25519-cert-v01@openssh.com'), sshString('x')])

test.each([
  ['no key', 'hello', 'it is not a line such as'],
  ['only a type', TYPE, 'its ssh-ed25519 key is damaged'],
  ['a cut off key', `${TYPE} ${base64.slice(0, -8)}`, 'the ssh-ed25519 key is damaged'],
  ['a key of another type', `ssh-rsa ${base64}`, 'the ssh-rsa key is damaged'],
  ['excess bytes', `${TYPE} ${Buffer.concat([blob, Buffer.from('xyz')]).toString('base64')}`, 'damaged'],
  ['a blank in the key', `${TYPE} ${base64.slice(0, 20)} ${base64.slice(20)}`, 'damaged'],
  ['a certificate', `ssh-ed25519-cert-v01@openssh.com ${certificate.toString('base64')}`, 'is a certificate'],
  ['a DSA key', 'ssh-dss AAAAB3NzaC1kc3M=', 'ssh-dss keys are too weak'],
  ['an unknown type', 'ssh-future AAAA', 'key type "ssh-future" is not supported'],
])('a line with %s is named', async (_what, line, why) => {
  const { decision, messages, file } = await decide(line)
  expect(messages).toEqual([expect.stringMatching(`^${file} line 2 is ignored: .*${why}`)])
  expect(decision.is).not.toBe('allowed')
})
