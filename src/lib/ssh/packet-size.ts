import { patchSsh2 } from './patch-ssh2.ts'

/** Maximum packet size, as in OpenSSH: a command is one packet. */
export const MAX_PACKET_BYTES = 256 * 1024

/**
 * Raises the limit of ssh2's packet parser, which is the minimum of RFC 4253, section 6.1: it closes the connection for longer
 * commands.
 */
export function readLongPackets(): void {
  const limit = `const MAX_PACKET_SIZE = ${MAX_PACKET_BYTES};`
  patchSsh2('ssh2/lib/protocol/crypto.js', 'const MAX_PACKET_SIZE = 35000;', limit)
}
