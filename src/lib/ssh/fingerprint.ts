import { createHash } from 'node:crypto'

/** Returns a public key's fingerprint as OpenSSH prints it. @param blob the key in its wire format */
export function fingerprintOf(blob: Buffer): string {
  return `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')}`
}
