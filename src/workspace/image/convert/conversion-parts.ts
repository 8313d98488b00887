import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { isFault } from '../../../lib/errors/fault.ts'
import { findInit } from '../../../native/programs/init.ts'
import { fault } from '../../errors.ts'
import { directoryDigest, fileFacts } from './file-facts.ts'
import { HEADER_LINKS, moduleFiles } from './kernel-modules.ts'
import { type ConfiguredKernel, configuredKernel, type KernelSource } from './kernel-source.ts'

/** Digests of what goes into every image beside its root file system; '' for what is not there. */
export interface ConversionParts {
  readonly guest: string
  readonly init: string
  readonly kernel: string
  readonly modules: string
}

/** Synchronous: for worker threads. @throws BACKEND_ERROR */
export function conversionParts(task: {
  readonly guestDir: string
  readonly kernel: ConfiguredKernel
}): ConversionParts {
  const { guestDir } = task
  if (!existsSync(guestDir))
    throw fault('BACKEND_ERROR', `the programs for guests are not in ${guestDir}: run npm run build`)
  const init = findInit()
  return {
    guest: directoryDigest(guestDir),
    init: init === undefined ? '' : fileFacts(init).digest,
    ...kernelParts(task.kernel),
  }
}

/** An image with a kernel of its own needs no other, so that none is no failure yet. */
function kernelParts(wanted: ConfiguredKernel): Pick<ConversionParts, 'kernel' | 'modules'> {
  try {
    const kernel = configuredKernel(wanted)
    return { kernel: fileFacts(kernel.file).digest, modules: modulesDigest(kernel) }
  } catch (error) {
    if (isFault(error)) return { kernel: '', modules: '' }
    throw error
  }
}

/** The whole directory goes into the root file system, and some of it into the initrd, where links have been followed. */
function modulesDigest({ modules, moduleFile }: KernelSource): string {
  const loaded = moduleFiles(moduleFile).map(({ name, path }) => [
    name,
    existsSync(path) ? fileFacts(path) : '',
  ])
  const all = JSON.stringify([directoryDigest(modules, HEADER_LINKS), loaded])
  return `sha256:${createHash('sha256').update(all).digest('hex')}`
}
