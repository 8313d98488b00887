import { fault } from '../../../errors.ts'
import { MachineFiles } from './machine-files.ts'
import { SnapshotFiles } from './snapshot-files.ts'

/**
 * The images that machines boot from and that snapshots lie above, those of machines included whose files are kept for later.
 *
 * @throws BACKEND_ERROR when what is known of one cannot be read: it may use any of them (threat P3)
 */
export async function readPinnedDigests(root: string): Promise<ReadonlySet<string>> {
  const machines = await new MachineFiles(root).list()
  const snapshots = await new SnapshotFiles(root).list()
  const all = [
    ...machines.map(({ key, reading }) => ({ what: `metadata.json of workspace "${key}"`, reading })),
    ...snapshots.map(({ key, reading }) => ({ what: `snapshot.json of snapshot "${key}"`, reading })),
  ]
  const digests = new Set<string>()
  for (const { what, reading } of all) {
    if (reading.is === 'unreadable')
      throw fault('BACKEND_ERROR', `${what} cannot be used (${reading.why}); it may use any image`)
    if (reading.is === 'known') digests.add(reading.record.digest)
  }
  return digests
}
