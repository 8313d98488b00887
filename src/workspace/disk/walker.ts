import type { Logger } from '../../lib/log/logger.ts'
import { createPool } from '../../lib/pool/pool.ts'
import { workerFile } from '../../lib/pool/worker-file.ts'
import type { TreeTotals } from '../../native/disk.ts'

/** Measures trees away from the server's own thread and process. */
export interface Walker {
  /** Totals of the tree at a path; rejects as `walkTree` throws. */
  readonly walkTree: (path: string) => Promise<TreeTotals>
  readonly close: () => Promise<void>
}

export function createWalker(logger: Logger): Walker {
  const pool = createPool({ name: 'disk', logger })
  return {
    walkTree: async (path) => (await pool.run(workerFile('disk-walk'), { path })) as TreeTotals,
    close: () => pool.close(),
  }
}
