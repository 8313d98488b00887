import { existsSync } from 'node:fs'
import { type Limits, sandboxMissing, type SandboxOptions } from '../../../lib/sandbox/sandbox.ts'
import { fault } from '../../errors.ts'

const MIB = 2 ** 20

/** Maximum total size of an unpacked image's files, including holes. */
export const MAX_IMAGE_BYTES = 2 ** 36
/** Maximum number of files and directories in an image. */
export const MAX_IMAGE_ENTRIES = 4_000_000

/**
 * Capabilities for unpacking and rereading owners, modes and file capabilities. They do not permit creating
 * device nodes.
 */
const ROOT_CAPABILITIES = [
  'CAP_CHOWN',
  'CAP_FOWNER',
  'CAP_DAC_OVERRIDE',
  'CAP_FSETID',
  'CAP_SETFCAP',
] as const

/**
 * Limits of one conversion step that reads untrusted bytes, with a margin for the largest permitted image.
 */
const LIMITS: Limits = {
  dataBytes: 512 * MIB,
  // An image's file system is larger than the files in it.
  fileBytes: MAX_IMAGE_BYTES + MAX_IMAGE_BYTES / 8,
  cpuSeconds: 30 * 60,
  processes: 256,
  openFiles: 4_096,
}

/** Checks that conversions can be sandboxed. @throws BACKEND_ERROR when they cannot */
export async function requireSandbox(): Promise<void> {
  const missing = await sandboxMissing()
  if (missing !== undefined) throw fault('BACKEND_ERROR', `converting images requires a sandbox: ${missing}`)
}

/**
 * Returns the sandbox of one conversion step: it sees only the staging directory and the given paths, has no
 * network and sees no other process, and has only root's file capabilities. Missing paths are left out.
 */
export function conversionSandbox(parts: {
  readonly writable?: readonly string[]
  readonly readable?: readonly string[]
  readonly limits?: Partial<Limits>
}): SandboxOptions {
  const { writable = [], readable = [], limits } = parts
  return {
    readable: readable.filter((path) => existsSync(path)),
    writable,
    network: 'none',
    hidesProcesses: true,
    capabilities: process.getuid?.() === 0 ? ROOT_CAPABILITIES : [],
    limits: { ...LIMITS, ...limits },
  }
}
