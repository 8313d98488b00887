import type { ImageLibrary } from '../../image/image-library.ts'
import type { WorkspaceTable } from '../../lifecycle/table.ts'
import { FilesInUse } from '../files-in-use.ts'
import type { Candidate, Findings, Skipped } from './candidate.ts'

/** Finds images that neither the configuration nor a workspace nor a snapshot needs. */
export async function findImages(library: ImageLibrary, table: WorkspaceTable): Promise<Findings> {
  const candidates: Candidate[] = []
  const skipped: Skipped[] = []
  const notes: string[] = []
  let inUse: Promise<FilesInUse> | undefined
  for (const { backend, images, failure } of await library.survey()) {
    if (failure !== undefined) {
      notes.push(`${backend}: images are not pruned (${failure})`)
      continue
    }
    // It may need an image that is not recorded yet.
    const isCreating = (): boolean =>
      table.list().some((workspace) => workspace.backend === backend && workspace.state.is === 'starting')
    for (const { digest, rows, path, isThere, neededBy, createdAt, size } of images) {
      const name = rows[0]?.name ?? digest
      const making = isCreating() ? 'a workspace is being created or started' : ''
      const reason = neededBy || making || (await (await (inUse ??= FilesInUse.read())).userOf(path))
      if (reason !== '') {
        skipped.push({ kind: 'image', name, path, reason })
        continue
      }
      candidates.push({
        kind: 'image',
        name,
        path,
        backend,
        identity: digest,
        reason: isThere ? 'not in use' : 'the image of this tag no longer exists',
        parts: [{ path, ...(size && { size }) }],
        changedAt: createdAt,
        remove: async () => {
          const usedNow = await (await FilesInUse.read()).userOf(path)
          if (usedNow !== '') return { is: 'kept', reason: usedNow }
          return !isCreating() && (await library.discard(backend, digest))
            ? { is: 'deleted' }
            : { is: 'kept', reason: 'it is in use by now, or images are being created' }
        },
      })
    }
  }
  return { candidates, skipped, notes }
}
