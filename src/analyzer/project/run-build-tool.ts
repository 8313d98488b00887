import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { run, type RunResult } from '../../lib/process/run.ts'
import { isArchive } from '../classpath/project-layout.ts'
import type { BuildToolRequest } from './build-tool-request.ts'

const TIMEOUT_MS = 170_000

/**
 * Runs the project's wrapper of a build tool, else the tool on PATH, in the project's root. `name` is the one
 * that ran.
 *
 * @throws Error when the tool is missing or takes too long
 */
export async function runBuildTool(
  { root, jvm, signal }: Pick<BuildToolRequest, 'root' | 'jvm' | 'signal'>,
  names: { readonly wrapper: string; readonly command: string },
  argv: readonly string[],
): Promise<RunResult & { readonly name: string }> {
  const wrapper = join(root, names.wrapper)
  const program = existsSync(wrapper) ? wrapper : names.command
  const environment = { ...process.env, ...(jvm !== undefined && { JAVA_HOME: jvm.home }) }
  let result: RunResult
  try {
    result = await run(program, argv, { cwd: root, environment, timeoutMs: TIMEOUT_MS, signal })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') throw new Error(`${names.command} is not on PATH`, { cause: error })
    if (code === 'EACCES') throw new Error(`${program} is not executable`, { cause: error })
    throw error
  }
  if (result.signal !== null) throw new Error(`${program} took longer than ${TIMEOUT_MS / 1_000} s`)
  return { ...result, name: program === wrapper ? names.wrapper : names.command }
}

/** Returns the distinct existing archives of class paths. */
export function archivesOf(classPaths: readonly string[]): string[] {
  const paths = classPaths.flatMap((classPath) => classPath.trim().split(delimiter))
  return [...new Set(paths)].filter((path) => isArchive(path) && existsSync(path))
}
