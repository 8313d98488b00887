import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { isFault } from '../../../lib/errors/fault.ts'
import { findInit } from '../../../native/programs/init.ts'
import { fault } from '../../errors.ts'
import { directoryDigest, fileFacts } from './file-facts.ts'
import { type ConfiguredKernel, configuredKernel } from './kernel-source.ts'

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
    const { file, modules } = configuredKernel(wanted)
    const list = join(modules, 'modules.dep')
    return { kernel: fileFacts(file).digest, modules: existsSync(list) ? fileFacts(list).digest : '' }
  } catch (error) {
    if (isFault(error)) return { kernel: '', modules: '' }
    throw error
  }
}
