import { jdkClasses, readBuild } from './build.ts'
import { type BuildDiff, diffBuilds } from './diff-builds.ts'

/** Two builds to compare. */
export interface DiffTask {
  /** Jar or class folder. */
  readonly old: string
  readonly new: string
  /** JVM with the JDK classes that the builds extend. */
  readonly jvmHome: string | undefined
  /** Whether to include what no other package can use. */
  readonly all: boolean
}

/** Reads and compares two builds. @throws BAD_REQUEST when one has no classes */
export async function compareBuilds(task: DiffTask): Promise<BuildDiff> {
  const jdk = jdkClasses(task.jvmHome, {})
  const before = await readBuild(task.old, jdk.find, jdk.release)
  const after = await readBuild(task.new, jdk.find, jdk.release)
  return diffBuilds(before, after, task.all)
}
