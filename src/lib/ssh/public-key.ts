import { fingerprintOf } from './fingerprint.ts'
import ssh2 from './ssh2.ts'

/** A public key. */
export interface PublicKey {
  /** As in a line of authorized_keys, without a comment. */
  readonly publicKey: string
  readonly fingerprint: string
}

/** Parses the content of a .pub file; undefined unless it is one public key without options. */
export function parsePublicKey(line: string): PublicKey | undefined {
  const key = ssh2.utils.parseKey(line.trim())
  if (key instanceof Error || key.isPrivateKey()) return undefined
  const blob = key.getPublicSSH()
  return { publicKey: `${key.type} ${blob.toString('base64')}`, fingerprint: fingerprintOf(blob) }
}
