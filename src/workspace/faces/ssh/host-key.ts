import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import ssh2 from 'ssh2'
import { defineFaults } from '../../../lib/errors/fault.ts'
import { writeFileDurable } from '../../../lib/fs/write-durable.ts'

const hostKeyFault = defineFaults({ HOST_KEY_UNUSABLE: 'invalid' })

/** The server's SSH identity, which clients pin. */
export interface HostKey {
  /** OpenSSH private key file, as ssh2 reads it. */
  readonly privateKey: string
  /** One line as in known_hosts: `ssh-ed25519 AAAA…`. */
  readonly publicKey: string
  /** `SHA256:…`, as ssh-keygen -l prints it. */
  readonly fingerprint: string
}

/**
 * Reads the host key, making an Ed25519 one on the first start. Throws HOST_KEY_UNUSABLE for a damaged file: a new key
 * in its place would break every client that pinned the old one (threat S7).
 */
export async function loadHostKey(file: string): Promise<HostKey> {
  let content: string
  try {
    content = await readFile(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw unusable(file, error)
    content = makePrivateKey()
    await writeFileDurable(file, content, { mode: 0o600 })
  }
  const key = ssh2.utils.parseKey(content)
  if (key instanceof Error || !key.isPrivateKey() || key.type !== 'ssh-ed25519') throw unusable(file, key)
  const blob = key.getPublicSSH()
  return {
    privateKey: content,
    publicKey: `${key.type} ${blob.toString('base64')}`,
    fingerprint: fingerprintOf(blob),
  }
}

/**
 * A new key, as an OpenSSH file. One in some 300 that ssh2 1.17.0 makes cannot be read, not even by ssh2; such a file
 * would keep the server from ever starting again.
 */
export function makePrivateKey(): string {
  for (;;) {
    const made = ssh2.utils.generateKeyPairSync('ed25519', { comment: 'workspace host key' }).private
    if (!(ssh2.utils.parseKey(made) instanceof Error)) return made
  }
}

/** A public key's fingerprint as OpenSSH prints it. */
export function fingerprintOf(blob: Buffer): string {
  return `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')}`
}

function unusable(file: string, cause: unknown) {
  return hostKeyFault(
    'HOST_KEY_UNUSABLE',
    `SSH host key ${file} is not a readable Ed25519 private key; restore it, or delete it to get a new identity`,
    cause,
  )
}
