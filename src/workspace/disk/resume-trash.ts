import { findTrash, removeLeftTrash } from '../../lib/fs/trash.ts'
import type { Logger } from '../../lib/log/logger.ts'
import { type MachineRoot, leftoverDirectories, whileNoDeletion } from './machine-root.ts'

/**
 * Completes deletions that an earlier server started (threat P9). What cannot be removed is kept and logged.
 */
export async function resumeTrash(
  roots: readonly MachineRoot[],
  signal: AbortSignal,
  logger: Logger,
): Promise<void> {
  const places = roots.flatMap((root) => leftoverDirectories(root).map((place) => ({ root, place })))
  for (const { root, place } of places) {
    try {
      for (const trash of await findTrash(place)) {
        await whileNoDeletion(root, place, () => removeLeftTrash(place, trash, { signal }))
        logger.info({ ...place, trash }, 'completed a deletion that an earlier server had started')
      }
    } catch (error) {
      if (signal.aborted) return
      logger.warn({ err: error, ...place }, 'cannot remove the remains of a deletion')
    }
  }
}
