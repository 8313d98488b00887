import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import {
  decompilerConfinement,
  scanConfinement,
  storeDirIn,
  textConfinement,
  textsDirIn,
} from '../../../src/analyzer/confinement.ts'
import { createScanPool } from '../../../src/analyzer/scan/scan-pool.ts'
import { createTextPool } from '../../../src/analyzer/source/source-service.ts'
import { startDecompiler } from '../../../src/analyzer/source/decompile/decompiler.ts'
import { makeDirs } from '../../../src/lib/fs/make-dirs.ts'
import { messageOf } from '../../../src/lib/errors/message.ts'
import { Pool } from '../../../src/lib/pool/pool.ts'
import type { Confinement } from '../../../src/lib/sandbox/confine.ts'
import type { Targets } from './attempts.ts'
import type { Canaries } from './canaries.ts'

/** The outcome of an attempt. */
type Ending = { readonly reached: string } | { readonly refused: string }

/** A process that reads hostile bytes, running the attacker's code instead. */
export interface Reader {
  readonly make: (attempt: string) => Promise<Ending>
  readonly close: () => Promise<void>
}

const WORKER = new URL('./attempt-worker.ts', import.meta.url)
const CHILD = fileURLToPath(new URL('./attempt-child.ts', import.meta.url))
/** Low limits, for attempts that exhaust them. */
const NARROW = { dataBytes: 2 ** 28, cpuSeconds: 3 }

/** The analyzer's reading processes, started as by the server; `isNarrow` lowers the limits so that tests reach them quickly. */
export const READERS: Readonly<Record<string, (canaries: Canaries, isNarrow?: boolean) => Reader>> = {
  'the scan'(canaries, isNarrow = false) {
    const confinement = narrowed(scanConfinement({ ...canaries, jvmHome: undefined }), isNarrow)
    makeDirs(storeDirIn(canaries.cacheDir))
    return inPool(createScanPool(undefined, confinement), canaries.targets(storeDirIn(canaries.cacheDir)))
  },
  'the search for texts'(canaries, isNarrow = false) {
    const confinement = narrowed(textConfinement({ ...canaries, jvmHome: undefined }, []), isNarrow)
    return inPool(createTextPool(undefined, confinement), canaries.targets(canaries.cacheDir))
  },
  'the decompiler'(canaries, isNarrow = false) {
    const textsDir = textsDirIn(canaries.cacheDir)
    makeDirs(textsDir)
    const wide = decompilerConfinement({ ...canaries, jvmHome: undefined }, [], 2 ** 28)
    const confinement = narrowed(wide, isNarrow)
    // In addition to what Node reserves.
    const limits = { ...confinement.limits, dataBytes: confinement.limits.dataBytes + 2 ** 31 }
    return inDecompiler(isNarrow ? { ...confinement, limits } : confinement, canaries.targets(textsDir))
  },
}

/** An unconfined process for comparison. */
export function plainReader(canaries: Canaries): Reader {
  return inPool(new Pool({ name: 'plain' }), canaries.targets(canaries.cacheDir))
}

function narrowed(confinement: Confinement, isNarrow: boolean): Confinement {
  return isNarrow ? { ...confinement, limits: { ...confinement.limits, ...NARROW } } : confinement
}

function inPool(pool: Pick<Pool, 'run' | 'close'>, targets: Targets): Reader {
  return {
    async make(name) {
      try {
        return { reached: String(await pool.run(WORKER, { name, targets }, { timeoutMs: 60_000 })) }
      } catch (error) {
        return { refused: messageOf(error) }
      }
    },
    close: () => pool.close(),
  }
}

function inDecompiler(confinement: Confinement, targets: Targets): Reader {
  const start = () => startDecompiler({ release: 17, confinement }, 256, CHILD)
  let child = start()
  return {
    async make(name) {
      if (child.exitCode !== null || child.signalCode !== null) child = start()
      const heard = new AbortController()
      const { signal } = heard
      const crashed = once(child, 'exit', { signal }).then(([status, by]): Ending => ({
        refused: `its process ended: ${by ?? status}`,
      }))
      const answered = once(child, 'message', { signal }).then(([message]) => message as Ending)
      child.send({ name, targets })
      const ending = await Promise.race([answered, crashed])
      void Promise.allSettled([answered, crashed])
      heard.abort()
      return ending
    },
    async close() {
      child.kill('SIGKILL')
    },
  }
}
