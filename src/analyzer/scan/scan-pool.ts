import { IdlePool } from '../../lib/pool/idle-pool.ts'
import { workerFile } from '../../lib/pool/worker-file.ts'
import type { PoolOptions } from '../../lib/pool/pool.ts'
import type { Confinement } from '../../lib/sandbox/confine.ts'

/** The process ends when nothing has been scanned for so long: it holds more memory than the server, and is soon started again. */
const POOL_IDLE_MS = 60_000

/** Lists of the largest archives that are read take half of it; without a bound V8 collects late. */
const THREAD_HEAP_MB = 256

/** Where class files are read and the store is written. It may be warmed before the rest of the server is there; the scanner widens the confinement where it must. */
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
