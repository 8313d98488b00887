import type { Logger } from '../../lib/log/logger.ts'
import { Pool } from '../../lib/pool/pool.ts'
import { workerFile } from '../../lib/pool/worker-file.ts'
import type { WalkReport } from '../../native/files/disk.ts'

/**
 * Smaller files are not asked what they share: in a tree of sources that would take as long as all the rest, for what is next
 * to nothing. Disks and images of machines are larger.
 */
const EXTENTS_FROM_BYTES = 64 * 1024

export interface WalkWork {
  readonly signal?: AbortSignal | undefined
  /** Told now and then how many files and directories have been seen. */
  readonly onSeen?: ((entries: number) => void) | undefined
}

/** Measures trees away from the server's own thread and process. */
export interface Walker {
  /** Counts the trees at some paths together, as `walkTrees` does. */
  readonly walk: (paths: readonly string[], work?: WalkWork) => Promise<WalkReport>
  readonly close: () => Promise<void>
}

export function createWalker(logger: Logger): Walker {
  // Whoever wants an answer of the server does not wait for a report.
  const pool = new Pool({ name: 'disk', logger, niceness: 10 })
  return {
    async walk(paths, { signal, onSeen } = {}) {
      if (paths.length === 0) return { trees: [], sharedBytes: 0 }
      const task = { paths, extentsFromBytes: EXTENTS_FROM_BYTES }
      return (await pool.run(workerFile('disk-walk'), task, {
        ...(signal && { signal }),
        ...(onSeen && { onProgress: (entries) => onSeen(entries as number) }),
      })) as WalkReport
    },
    close: () => pool.close(),
  }
}
