import { readFileSync } from 'node:fs'
import { createRequire, Module } from 'node:module'
import { dirname, join } from 'node:path'
import { packageRoot } from '../process/package.ts'
import { addHybridExchange } from './hybrid-exchange.ts'
import { readLongPackets } from './packet-size.ts'
import { offerSignatures } from './signature-algorithms.ts'
import { passTerminalModes } from './terminal-modes.ts'

const require = createRequire(import.meta.url)
const OWNER = 'ssh2/lib/protocol/crypto.js'
const NEWEST_NODE_TO_COMPILE_FOR = 24

/**
 * Implementation of SSH's ciphers: ssh2's compiled addon, or JavaScript at a seventh to a third of its speed, because the addon
 * cannot be loaded ("absent") or would abort the process ("refused").
 */
export type SshCiphers = 'compiled' | 'absent' | 'refused'

const isRefused = refuseUnsafe(join(dirname(require.resolve(OWNER)), 'crypto/build/Release/sshcrypto.node'))
// Imported late, because it loads the addon.
readLongPackets()
addHybridExchange()
// Before the module of signatures, which loads what these change.
passTerminalModes()
offerSignatures()

/** Returns whether ssh2 uses its compiled ciphers. */
export function sshCiphers(): SshCiphers {
  if (isRefused) return 'refused'
  const { bindingAvailable } = require(OWNER) as { bindingAvailable: boolean }
  return bindingAvailable ? 'compiled' : 'absent'
}

/** Returns the remedy for ciphers that are not compiled. */
export function ciphersRemedy(nodeVersion = process.versions.node): string {
  if (Number.parseInt(nodeVersion, 10) > NEWEST_NODE_TO_COMPILE_FOR)
    return `run on Node.js ${NEWEST_NODE_TO_COMPILE_FOR}: ssh2's ciphers cannot be compiled for a newer one`
  const header = join(packageRoot, 'native/compat/object-wrap.h')
  return `CXXFLAGS='-include ${header}' npm rebuild ssh2, with its install script allowed and a compiler installed`
}

/**
 * Prevents ssh2 from loading an addon whose ciphers remove a cleanup hook when they are collected, as addons do that were
 * compiled with the headers of Node.js 24.19 and later: Node.js then aborts the process
 * (https://github.com/nodejs/node/issues/65446). ssh2 treats an addon without exports as absent.
 * @returns whether the addon was disabled
 */
export function refuseUnsafe(file: string): boolean {
  let bytes: Buffer
  try {
    bytes = readFileSync(file)
  } catch {
    return false
  }
  if (!bytes.includes('RemoveEnvironmentCleanupHook')) return false
  const refused = new Module(file)
  refused.filename = file
  refused.exports = null
  refused.loaded = true
  require.cache[file] = refused
  return true
}
