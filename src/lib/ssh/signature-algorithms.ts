import { patchSsh2 } from './patch-ssh2.ts'

const SSH2_ALGORITHMS = `'ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521'
      + 'rsa-sha2-512,rsa-sha2-256,ssh-rsa,ssh-dss'`
/** Beside `ssh-ed25519`, which ssh2 adds. */
const ALGORITHMS = [
  'sk-ssh-ed25519@openssh.com',
  'sk-ecdsa-sha2-nistp256@openssh.com',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'rsa-sha2-512',
  'rsa-sha2-256',
  'ssh-rsa',
]

/**
 * Makes ssh2's server report the algorithms of signatures that logins accept (`server-sig-algs`, RFC 8308). Its own list lacks
 * security keys, and by a missing comma `rsa-sha2-512`, without which some clients cannot log in with an RSA key.
 */
export function offerSignatures(): void {
  patchSsh2('ssh2/lib/protocol/Protocol.js', SSH2_ALGORITHMS, `'${ALGORITHMS.join(',')}'`)
}
