import type { Logger } from '../../lib/log/logger.ts'
import { Pool } from '../../lib/pool/pool.ts'
import { workerFile } from '../../lib/pool/worker-file.ts'
import type { WalkReport } from '../../native/files/disk.ts'

/**
 * Extents of smaller files are not examined: in a source tree that would double the duration for almost no
 * shared bytes. VM disks and images are larger.
 */
const EXTENTS_FROM_BYTES = 64 * 1024

/** Options of a walk. */
export interface WalkWork {
  readonly signal?: AbortSignal | undefined
  /** Called occasionally with the number of files and directories seen. */
  readonly onSeen?: ((entries: number) => void) | undefined
}

/** Measures trees in a separate process. */
export interface Walker {
  /** Measures the trees at some paths together, like `walkTrees`. */
  readonly walk: (paths: readonly string[], work?: WalkWork) => Promise<WalkReport>
  readonly close: () => Promise<void>
}

/** Starts a walker. */
export function createWalker(logger: Logger): Walker {
  // At low priority: requests to the server must not wait for a report.
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
