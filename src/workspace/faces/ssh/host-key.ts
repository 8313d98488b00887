import { readFile } from 'node:fs/promises'
import { fingerprintOf } from '../../../lib/ssh/fingerprint.ts'
import ssh2, { type ParsedKey } from '../../../lib/ssh/ssh2.ts'
import { defineFaults } from '../../../lib/errors/fault.ts'
import { writeFileDurable } from '../../../lib/fs/write-durable.ts'

const hostKeyFault = defineFaults({ HOST_KEY_UNUSABLE: 'invalid' })

/** The server's SSH host key, which clients pin. */
export interface HostKey {
  /** OpenSSH private key file, as ssh2 reads it. */
  readonly privateKey: string
  /** One line in known_hosts format: `ssh-ed25519 AAAA…`. */
  readonly publicKey: string
  /** `SHA256:…`, as ssh-keygen -l prints it. */
  readonly fingerprint: string
}

/**
 * Reads the host key, or generates an Ed25519 key on the first start.
 *
 * @throws HOST_KEY_UNUSABLE when the file is damaged: replacing it would break every client that pinned the old key (threat S7)
 */
export async function loadHostKey(file: string): Promise<HostKey> {
  let content: string
  try {
    content = await readFile(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw unusable(file, error)
    content = generateHostKey()
    await writeFileDurable(file, content, { mode: 0o600 })
  }
  const key = parseHostKey(content)
  if (key instanceof Error) throw unusable(file, key)
  const blob = key.getPublicSSH()
  return {
    privateKey: content,
    publicKey: `${key.type} ${blob.toString('base64')}`,
    fingerprint: fingerprintOf(blob),
  }
}

/**
 * Generates a private key. ssh2 1.17.0 drops leading zero bytes of keys it generates and then cannot read one in 150
 * (https://github.com/mscdex/ssh2/issues/1514); such keys are discarded.
 */
export function generateHostKey(): string {
  for (;;) {
    const { private: made } = ssh2.utils.generateKeyPairSync('ed25519', { comment: 'workspace host key' })
    if (!(parseHostKey(made) instanceof Error)) return made
  }
}

function parseHostKey(content: string): ParsedKey | Error {
  const key = ssh2.utils.parseKey(content)
  if (key instanceof Error || (key.isPrivateKey() && key.type === 'ssh-ed25519')) return key
  return new Error(`it is ${key.isPrivateKey() ? 'a private' : 'a public'} key of type ${key.type}`)
}

function unusable(file: string, cause: unknown) {
  return hostKeyFault(
    'HOST_KEY_UNUSABLE',
    `SSH host key ${file} is not a readable Ed25519 private key; restore it, or delete it to get a new identity`,
    cause,
  )
}
