import { Pool } from '../../lib/pool/pool.ts'
import { requireAddon } from '../../lib/process/require-addon.ts'
import { workerFile } from '../../lib/pool/worker-file.ts'
import { diffConfinement } from '../confinement.ts'
import type { DiffTask } from './compare-builds.ts'
import type { BuildDiff } from './diff-builds.ts'

/**
 * Compares two builds in a confined process, because they are untrusted. @throws as `compareBuilds` and
 * `requireAddon`
 */
export async function compareConfined(task: DiffTask): Promise<BuildDiff> {
  requireAddon('the analyzer')
  const confinement = diffConfinement([task.old, task.new], task.jvmHome)
  const pool = new Pool({ name: 'diff', maxThreads: 1, confinement })
  try {
    return (await pool.run(workerFile('analyzer-diff'), task)) as BuildDiff
  } finally {
    await pool.close()
  }
}
