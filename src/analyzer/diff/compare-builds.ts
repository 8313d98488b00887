import { jdkClasses, readBuild } from './build.ts'
import { type BuildDiff, diffBuilds } from './diff-builds.ts'

/** Two builds to compare. */
export interface DiffTask {
  /** Jars or class folders. */
  readonly old: string
  readonly new: string
  /** The JVM whose classes they extend. */
  readonly jvmHome: string | undefined
  /** Also what no other package can name. */
  readonly all: boolean
}

/** Reads two builds and compares them. @throws BAD_REQUEST where one has no classes */
export async function compareBuilds(task: DiffTask): Promise<BuildDiff> {
  const jdk = jdkClasses(task.jvmHome, {})
  const before = await readBuild(task.old, jdk.find, jdk.release)
  const after = await readBuild(task.new, jdk.find, jdk.release)
  return diffBuilds(before, after, task.all)
}
