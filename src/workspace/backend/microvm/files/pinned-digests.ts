import { fault } from '../../../errors.ts'
import { MachineFiles } from './machine-files.ts'
import { SnapshotFiles } from './snapshot-files.ts'

/**
 * Returns the digests of images that VMs boot from or snapshots, forks and checkpoints depend on, including VMs whose files are kept
 * for later.
 *
 * @throws BACKEND_ERROR when a record is unreadable: it may use any image (threat P3)
 */
export async function readPinnedDigests(root: string): Promise<ReadonlySet<string>> {
  const machines = await new MachineFiles(root).list()
  const snapshots = await new SnapshotFiles(root).list()
  const forks = await new SnapshotFiles(root, 'forks').list()
  const checkpoints = await new SnapshotFiles(root, 'checkpoints').list()
  const all = [
    ...machines.map(({ key, reading }) => ({ what: `metadata.json of workspace "${key}"`, reading })),
    ...snapshots.map(({ key, reading }) => ({ what: `snapshot.json of snapshot "${key}"`, reading })),
    ...forks.map(({ key, reading }) => ({ what: `snapshot.json of fork "${key}"`, reading })),
    ...checkpoints.map(({ key, reading }) => ({ what: `snapshot.json of checkpoint "${key}"`, reading })),
  ]
  const digests = new Set<string>()
  for (const { what, reading } of all) {
    if (reading.is === 'unreadable')
      throw fault('BACKEND_ERROR', `${what} is unreadable (${reading.why}); it may use any image`)
    if (reading.is === 'valid') digests.add(reading.record.digest)
  }
  return digests
}
