import { discard, removeLeftTrash } from '../../../lib/fs/trash.ts'
import type { Lifecycle } from '../../lifecycle/lifecycle.ts'
import type { SnapshotLibrary } from '../../snapshot/snapshot-library.ts'
import { type MachineRoot, whileNoDeletion } from '../machine-root.ts'
import { findOrphans, type Orphan, type OrphanKind } from '../orphans.ts'
import type { Candidate, Findings, ItemKind, Removal, Skipped } from './candidate.ts'
import type { ClockWatch } from './clock-watch.ts'

const REASONS: Readonly<Record<Exclude<OrphanKind, 'lock'>, string>> = {
  tmp: 'left by interrupted work',
  snapshot: 'has no snapshot.json',
  checkpoint: 'its workspace no longer exists',
  upper: 'has no metadata.json',
  trash: 'left by an interrupted deletion',
}

/** Dependencies of findPrunableOrphans. */
export interface OrphanParts {
  readonly roots: readonly MachineRoot[]
  readonly lifecycle: Lifecycle
  readonly snapshots: SnapshotLibrary
  readonly clock: ClockWatch
}

/** Finds orphans, and why some of them are kept. */
export async function findPrunableOrphans(parts: OrphanParts): Promise<Findings> {
  const { roots, clock } = parts
  const candidates: Candidate[] = []
  const skipped: Skipped[] = []
  const notes: string[] = []
  for (const root of roots) {
    const findings = await findOrphans(root, clock.earliest)
    notes.push(...findings.notes)
    for (const orphan of findings.orphans) {
      const { kind, name, path, backend, identity, changedAt, retained } = orphan
      if (kind === 'lock' || retained !== '') skipped.push({ kind, name, path, reason: retained })
      else
        candidates.push({
          kind: kind satisfies ItemKind,
          name,
          path,
          backend,
          identity,
          changedAt,
          reason: REASONS[kind],
          parts: [{ path }],
          remove: (onSeen) => removeOrphan(parts, root, orphan, onSeen),
        })
    }
  }
  return { candidates, skipped, notes }
}

/**
 * Inspects an orphan again and removes it, under the lock that excludes every possible user of it (threats
 * P4, P5).
 */
async function removeOrphan(
  { lifecycle, snapshots, clock }: OrphanParts,
  root: MachineRoot,
  orphan: Orphan,
  onSeen: (removed: number) => void,
): Promise<Removal> {
  const work = async (): Promise<Removal> => {
    const { orphans } = await findOrphans(root, clock.earliest)
    const again = orphans.find(({ path }) => path === orphan.path)
    if (again === undefined) return { is: 'kept', reason: 'it is in use by now, or no longer exists' }
    if (again.retained !== '') return { is: 'kept', reason: again.retained }
    if (again.identity !== orphan.identity) return { is: 'kept', reason: 'it has been replaced' }
    if (orphan.kind === 'trash') await removeLeftTrash(orphan.place, orphan.name, { onSeen })
    else await discard(orphan.place, orphan.name, { onSeen })
    return { is: 'deleted' }
  }
  switch (orphan.kind) {
    case 'tmp': {
      const removal = await root.images.preparation.whileNone(work)
      return removal ?? { is: 'kept', reason: 'an image is being created' }
    }
    case 'trash':
      return whileNoDeletion(root, orphan.place, work)
    case 'checkpoint':
      // No workspace can get the id of another.
      return work()
    case 'snapshot':
      return snapshots.whileIdle(orphan.name, work)
    case 'upper': {
      const removal = await lifecycle.whileIdle(orphan.name, (workspace) =>
        workspace?.backend === orphan.backend
          ? Promise.resolve({ is: 'kept', reason: 'a workspace of that name exists' } as const)
          : work(),
      )
      return removal ?? { is: 'kept', reason: 'a workspace of that name is being created' }
    }
    case 'lock':
      break
  }
  return { is: 'kept', reason: 'lock file retained' }
}
