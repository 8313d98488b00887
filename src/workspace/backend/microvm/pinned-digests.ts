import { fault } from '../../errors.ts'
import type { MachineFiles } from './machine-files.ts'

/**
 * The images that machines boot from, those included whose files are kept for later. Throws BACKEND_ERROR when one machine's
 * metadata cannot be read: it may use any of them (threat P3).
 */
export async function readPinnedDigests(files: MachineFiles): Promise<ReadonlySet<string>> {
  const digests = new Set<string>()
  for (const { key, reading } of await files.list()) {
    if (reading.is === 'unreadable')
      throw fault(
        'BACKEND_ERROR',
        `metadata.json of workspace "${key}" cannot be used (${reading.why}); it may use any image`,
      )
    if (reading.is === 'known') digests.add(reading.metadata.digest)
  }
  return digests
}
