import { readFileSync } from 'node:fs'
import { createRequire, Module } from 'node:module'
import { dirname } from 'node:path'
import { compileFunction } from 'node:vm'

const require = createRequire(import.meta.url)
const OWNER = 'ssh2/lib/protocol/crypto.js'
const LIMIT = 'const MAX_PACKET_SIZE = 35000;'

/** Maximum packet size, as in OpenSSH: a command is one packet. */
export const MAX_PACKET_BYTES = 256 * 1024

/**
 * Loads the packet parser of ssh2 1.17.0 with a higher limit: its own is the minimum of RFC 4253, section 6.1, and it
 * closes the connection for longer commands. It cannot be configured. Call this before anything loads ssh2, as dockerode does.
 */
export function readLongPackets(): void {
  const file = require.resolve(OWNER)
  const source = readFileSync(file, 'utf8').replace(LIMIT, `const MAX_PACKET_SIZE = ${MAX_PACKET_BYTES};`)
  const names = ['module', 'exports', 'require', '__filename', '__dirname']
  const owner = new Module(file)
  owner.filename = file
  require.cache[file] = owner
  const run = compileFunction(source, names, { filename: file }) as (...values: unknown[]) => void
  run(owner, owner.exports, createRequire(file), file, dirname(file))
  owner.loaded = true
}
