import type { Logger } from '../../lib/log/logger.ts'
import { Pool } from '../../lib/pool/pool.ts'
import { workerFile } from '../../lib/pool/worker-file.ts'
import type { WalkReport } from '../../native/files/disk.ts'
import type { RepeatedWalk } from './repeated-walk.ts'

/**
 * Extents of smaller files are not examined: in a source tree that would double the duration for almost no
 * shared bytes. VM disks and images are larger.
 */
const EXTENTS_FROM_BYTES = 64 * 1024

/** Task of the worker disk-walk. */
export interface DiskWalkTask {
  readonly paths: readonly string[]
  readonly extentsFromBytes: number
  /** File that keeps extents of large files for the next process. */
  readonly extentsFile: string
}

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

/** Starts a walker. @param extentsFile where it keeps the extents of large files between runs of the server */
export function createWalker(logger: Logger, extentsFile: string): Walker {
  // At low priority: requests to the server must not wait for a report.
  const pool = new Pool({ name: 'disk', logger, niceness: 10 })
  return {
    async walk(paths, { signal, onSeen } = {}) {
      if (paths.length === 0) return { trees: [], sharedBytes: 0, askedFiles: 0 }
      const task: DiskWalkTask = { paths, extentsFromBytes: EXTENTS_FROM_BYTES, extentsFile }
      const { report, problems } = (await pool.run(workerFile('disk-walk'), task, {
        ...(signal && { signal }),
        ...(onSeen && { onProgress: (entries) => onSeen(entries as number) }),
      })) as RepeatedWalk
      for (const why of problems) logger.warn({ why }, 'the next disk report has to read extents again')
      return report
    },
    close: () => pool.close(),
  }
}
