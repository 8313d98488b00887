import { discard, removeLeftTrash } from '../../../lib/fs/trash.ts'
import type { Lifecycle } from '../../lifecycle/lifecycle.ts'
import { isWorkspaceName } from '../../name.ts'
import type { MachineRoot } from '../machine-root.ts'
import { findOrphans, type Orphan, type OrphanKind } from '../orphans.ts'
import type { Candidate, Findings, ItemKind, Removal, Skipped } from './candidate.ts'

const REASONS: Readonly<Record<Exclude<OrphanKind, 'lock'>, string>> = {
  tmp: 'left by work that was cut short',
  snapshot: 'has no snapshot.json',
  upper: 'has no metadata.json',
  trash: 'left by a deletion that was cut short',
}

/** What belongs to nothing, and why some of it stays. */
export async function findPrunableOrphans(
  roots: readonly MachineRoot[],
  lifecycle: Lifecycle,
  now: () => Date,
): Promise<Findings> {
  const candidates: Candidate[] = []
  const skipped: Skipped[] = []
  const notes: string[] = []
  for (const root of roots) {
    const findings = await findOrphans(root, now())
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
          remove: (onSeen) => removeOrphan(root, lifecycle, now, orphan, onSeen),
        })
    }
  }
  return { candidates, skipped, notes }
}

/** With whoever could be making it kept away, and looked at once more (threats P4, P5). */
async function removeOrphan(
  root: MachineRoot,
  lifecycle: Lifecycle,
  now: () => Date,
  orphan: Orphan,
  onSeen: (removed: number) => void,
): Promise<Removal> {
  const work = async (): Promise<Removal> => {
    const again = (await findOrphans(root, now())).orphans.find(({ path }) => path === orphan.path)
    if (again === undefined) return { is: 'kept', reason: 'it belongs to something by now, or is gone' }
    if (again.retained !== '') return { is: 'kept', reason: again.retained }
    if (again.identity !== orphan.identity) return { is: 'kept', reason: 'it is another one by now' }
    if (orphan.kind === 'trash') await removeLeftTrash(orphan.place, orphan.name, { onSeen })
    else await discard(orphan.place, orphan.name, { onSeen })
    return { is: 'deleted' }
  }
  if (orphan.kind === 'tmp') {
    const removal = await root.images.preparation.whileNone(work)
    return removal ?? { is: 'kept', reason: 'an image is being made' }
  }
  if (orphan.kind !== 'upper' || !isWorkspaceName(orphan.name)) return work()
  const removal = await lifecycle.whileIdle(orphan.name, (workspace) =>
    workspace?.backend === orphan.backend
      ? Promise.resolve({ is: 'kept', reason: 'a workspace of that name is there' } as const)
      : work(),
  )
  return removal ?? { is: 'kept', reason: 'a workspace of that name is being made' }
}
