import { readFileSync } from 'node:fs'
import { createRequire, Module } from 'node:module'
import { dirname } from 'node:path'
import { compileFunction } from 'node:vm'

const require = createRequire(import.meta.url)
const OWNER = 'ssh2/lib/protocol/crypto.js'
const LIMIT = 'const MAX_PACKET_SIZE = 35000;'

/** The longest packet that is read, as in OpenSSH: a command comes in one. */
export const MAX_PACKET_BYTES = 256 * 1024

/**
 * Loads the module of ssh2 1.17.0 that reads packets with another limit: its own is the least that RFC 4253, section 6.1 asks for, and it
 * closes the connection at a command beyond that. It cannot be configured. To be called before anything loads ssh2, as dockerode does.
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
