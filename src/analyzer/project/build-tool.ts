import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { run } from '../../lib/process/run.ts'
import type { Jvm } from './find-jvm.ts'

const TIMEOUT_MS = 170_000

/** What a build tool tells of a project: the jars that all its modules are built on, each once. */
export interface BuildToolAnswer {
  readonly tool: 'maven'
  readonly libraries: readonly string[]
}

/**
 * Asks the project's build tool for the class paths of its modules. This runs the tool, and so what the project's build
 * defines. Throws an Error that says why there is no answer.
 */
export async function askBuildTool(
  root: string,
  jvm: Jvm | undefined,
  signal: AbortSignal,
): Promise<BuildToolAnswer> {
  if (existsSync(join(root, 'pom.xml')))
    return { tool: 'maven', libraries: await askMaven(root, jvm, signal) }
  throw new Error('only Maven is asked: there is no pom.xml')
}

/** Maven prints one line of paths for each module, under a heading of its own. */
async function askMaven(root: string, jvm: Jvm | undefined, signal: AbortSignal): Promise<readonly string[]> {
  const wrapper = join(root, 'mvnw')
  const program = existsSync(wrapper) ? wrapper : 'mvn'
  const environment = { ...process.env, ...(jvm !== undefined && { JAVA_HOME: jvm.home }) }
  const argv = ['-B', '-Dstyle.color=never', '-Dmdep.includeScope=test', 'dependency:build-classpath']
  const { status, stdout } = await run(program, argv, {
    cwd: root,
    environment,
    timeoutMs: TIMEOUT_MS,
    signal,
  })
  if (status !== 0) {
    const [why = `it ended with status ${status}`] = stdout
      .split('\n')
      .filter((line) => line.startsWith('[ERROR]'))
    throw new Error(`${program}: ${why.replace('[ERROR]', '').trim()}`)
  }
  const jars = stdout
    .split('\n')
    .flatMap((line, at, lines) =>
      lines[at - 1]?.includes('Dependencies classpath:') === true ? [line.trim()] : [],
    )
    .flatMap((line) => line.split(delimiter))
    .filter((path) => path.endsWith('.jar') && existsSync(path))
  return [...new Set(jars)]
}
