import { existsSync } from 'node:fs'
import { type Limits, sandboxMissing, type SandboxOptions } from '../../../lib/sandbox/sandbox.ts'
import { fault } from '../../errors.ts'

const MIB = 2 ** 20

/** What an image may unpack to: the bytes of all its files, holes included, and all its files and directories. */
export const MAX_IMAGE_BYTES = 2 ** 36
export const MAX_IMAGE_ENTRIES = 4_000_000

/** Unpacking with owners, modes and file capabilities, and reading it all again. No device node can be made with these. */
const ROOT_CAPABILITIES = [
  'CAP_CHOWN',
  'CAP_FOWNER',
  'CAP_DAC_OVERRIDE',
  'CAP_FSETID',
  'CAP_SETFCAP',
] as const

/** A step of a conversion, in which hostile bytes are read: for the largest there may be, with room to spare. */
const LIMITS: Limits = {
  dataBytes: 512 * MIB,
  // The file system of an image is larger than the files in it.
  fileBytes: MAX_IMAGE_BYTES + MAX_IMAGE_BYTES / 8,
  cpuSeconds: 30 * 60,
  processes: 256,
  openFiles: 4_096,
}

/** @throws BACKEND_ERROR where conversions cannot be caged */
export async function requireCage(): Promise<void> {
  const missing = await sandboxMissing()
  if (missing !== undefined)
    throw fault('BACKEND_ERROR', `images are not converted without a sandbox: ${missing}`)
}

/**
 * Returns the sandbox of one step of a conversion: it sees the staging directory and the paths given, has no network and no other process,
 * and of root's powers only those over files. Paths that do not exist are left out.
 */
export function cage(parts: {
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
