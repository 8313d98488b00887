import { IdlePool } from '../../lib/pool/idle-pool.ts'
import { workerFile } from '../../lib/pool/worker-file.ts'
import type { PoolOptions } from '../../lib/pool/pool.ts'
import type { Confinement } from '../../lib/sandbox/confine.ts'

/**
 * The process exits after so long without a scan: it uses more memory than the server, and starts quickly.
 */
const POOL_IDLE_MS = 60_000

/** Twice what the lists of the largest allowed archives take; without a limit V8 collects garbage late. */
const THREAD_HEAP_MB = 256

/**
 * Creates the pool that reads class files and writes the store. It may be warmed before the server is loaded;
 * the scanner widens its confinement if necessary.
 */
export function createScanPool(logger: PoolOptions['logger'], confinement: Confinement): IdlePool {
  const preload = ['analyzer-check', 'analyzer-hash', 'analyzer-list', 'analyzer-read'].map(workerFile)
  return new IdlePool(
    {
      name: 'analyzer',
      preload,
      confinement,
      maxHeapMb: THREAD_HEAP_MB,
      ...(logger !== undefined && { logger }),
    },
    POOL_IDLE_MS,
  )
}
