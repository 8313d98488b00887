import { findTrash, removeLeftTrash } from '../../lib/fs/trash.ts'
import type { Logger } from '../../lib/log/logger.ts'
import { type MachineRoot, placesOf, whileNoneIsDeleted } from './machine-root.ts'

/** Ends deletions that an earlier server has begun (threat P9). What cannot be removed stays, and is told. */
export async function resumeTrash(
  roots: readonly MachineRoot[],
  signal: AbortSignal,
  logger: Logger,
): Promise<void> {
  const places = roots.flatMap((root) => placesOf(root).map((place) => ({ root, place })))
  for (const { root, place } of places) {
    try {
      for (const trash of await findTrash(place)) {
        await whileNoneIsDeleted(root, place, () => removeLeftTrash(place, trash, { signal }))
        logger.info({ ...place, trash }, 'ended a deletion that an earlier server had begun')
      }
    } catch (error) {
      if (signal.aborted) return
      logger.warn({ err: error, ...place }, 'what a deletion has left cannot be removed')
    }
  }
}
