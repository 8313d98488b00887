import { Pool } from '../../lib/pool/pool.ts'
import { requireAddon } from '../../lib/process/require-addon.ts'
import { workerFile } from '../../lib/pool/worker-file.ts'
import { diffConfinement } from '../confinement.ts'
import type { DiffTask } from './compare-builds.ts'
import type { MembersDiff, MembersTask } from './compare-members.ts'
import type { BuildDiff } from './diff-builds.ts'

/**
 * Compares two builds in a confined process, because they are untrusted. @throws as `compareBuilds` and
 * `requireAddon`
 */
export function compareConfined(task: DiffTask): Promise<BuildDiff> {
  return runConfined('analyzer-diff', task, [task.old, task.new], task.jvmHome)
}

/** Compares the members of two builds in a confined process. @throws as `compareMembers` and `requireAddon` */
export function compareMembersConfined(task: MembersTask): Promise<MembersDiff> {
  return runConfined('analyzer-members', task, [...task.old, ...task.new], undefined)
}

async function runConfined<Result>(
  worker: string,
  task: object,
  builds: readonly string[],
  jvmHome: string | undefined,
): Promise<Result> {
  requireAddon('the analyzer')
  const pool = new Pool({ name: 'diff', maxThreads: 1, confinement: diffConfinement(builds, jvmHome) })
  try {
    return (await pool.run(workerFile(worker), task)) as Result
  } finally {
    await pool.close()
  }
}
