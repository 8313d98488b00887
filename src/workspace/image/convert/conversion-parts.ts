import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { isFault } from '../../../lib/errors/fault.ts'
import { findInit } from '../../../native/programs/init.ts'
import { fault } from '../../errors.ts'
import { directoryDigest, fileFacts } from './file-facts.ts'
import { HEADER_LINKS, moduleFiles } from './kernel-modules.ts'
import { type ConfiguredKernel, configuredKernel, type KernelSource } from './kernel-source.ts'

/** Digests of the inputs of every image besides its root file system; '' for a missing one. */
export interface ConversionParts {
  readonly guest: string
  readonly init: string
  readonly kernel: string
  readonly modules: string
}

/**
 * Computes the digests. Synchronous: for worker threads.
 *
 * @throws BACKEND_ERROR when the guest programs are missing
 */
export function conversionParts(task: {
  readonly guestDir: string
  readonly kernel: ConfiguredKernel
}): ConversionParts {
  const { guestDir } = task
  if (!existsSync(guestDir))
    throw fault('BACKEND_ERROR', `the guest programs are missing from ${guestDir}; run npm run build`)
  const init = findInit()
  return {
    guest: directoryDigest(guestDir),
    init: init === undefined ? '' : fileFacts(init).digest,
    ...kernelParts(task.kernel),
  }
}

/** Returns the kernel's digests; '' without a kernel, because an image may contain its own. */
function kernelParts(wanted: ConfiguredKernel): Pick<ConversionParts, 'kernel' | 'modules'> {
  try {
    const kernel = configuredKernel(wanted)
    return { kernel: fileFacts(kernel.file).digest, modules: modulesDigest(kernel) }
  } catch (error) {
    if (isFault(error)) return { kernel: '', modules: '' }
    throw error
  }
}

/**
 * Covers the whole directory, which goes into the root file system, and the targets of links, some of which
 * go into the initrd.
 */
function modulesDigest({ modules, moduleFile }: KernelSource): string {
  const loaded = moduleFiles(moduleFile).map(({ name, path }) => [
    name,
    existsSync(path) ? fileFacts(path) : '',
  ])
  const all = JSON.stringify([directoryDigest(modules, HEADER_LINKS), loaded])
  return `sha256:${createHash('sha256').update(all).digest('hex')}`
}
