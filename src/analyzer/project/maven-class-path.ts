import type { BuildToolClassPath, BuildToolRequest } from './build-tool-request.ts'
import { archivesOf, runBuildTool } from './run-build-tool.ts'

const GOAL = 'dependency:build-classpath'
const FLAGS = ['-B', '-Dstyle.color=never', '-Dmdep.includeScope=test', '--fail-at-end']
/**
 * Modules that are not installed are known to each other only in a run that reaches the phase that builds
 * their classes (Maven's ReactorReader); this run builds none.
 */
const TOGETHER = [
  '-Dmaven.main.skip=true',
  '-Dmaven.test.skip=true',
  '-Dmaven.resources.skip=true',
  'test-compile',
]

/** Asks Maven for the class paths of all modules. If some fail, returns those of the others. */
export async function mavenClassPath(request: BuildToolRequest): Promise<BuildToolClassPath> {
  const runMaven = (...argv: readonly string[]) =>
    runBuildTool(request, { wrapper: 'mvnw', command: 'mvn' }, [...FLAGS, ...argv, GOAL])
  const { status, stdout, name: tool } = await runMaven()
  if (status === 0) return answerOf([stdout], true)
  const isMany = stdout.includes('Reactor Summary')
  const together = isMany ? await runMaven(...TOGETHER) : undefined
  if (together?.status === 0) return answerOf([together.stdout], true)
  const answer = answerOf([stdout, together?.stdout ?? ''], false)
  const why = reasonOf(together?.stdout ?? stdout) ?? `it exited with status ${status}`
  if (answer.libraries.length === 0) throw new Error(`${tool}: ${why}`)
  const without = [...(together?.stdout ?? '').matchAll(/^\[INFO\] (.+?) \.+ (?:FAILURE|SKIPPED)/gm)]
  const modules = without.map(([, name]) => name)
  request.logger.warn({ modules, why }, 'Maven returned no class path for these modules')
  return answer
}

/** Maven prints one line of paths for each module under its own heading. */
function answerOf(outputs: readonly string[], isWhole: boolean): BuildToolClassPath {
  const classPaths = outputs
    .flatMap((text) => [...text.matchAll(/Dependencies classpath:.*\n(.*)/g)])
    .map(([, classPath = '']) => classPath)
  return { tool: 'maven', libraries: archivesOf(classPaths), classFolders: [], isWhole }
}

const UNREACHABLE =
  /offline mode|Unknown host|Could not transfer|Connection (?:refused|timed out)|No route to host/

/** Returns the first error, with a remedy if Maven has no network. */
function reasonOf(stdout: string): string | undefined {
  const [, first] = /^\[ERROR\] (.+)/m.exec(stdout) ?? []
  if (first === undefined || !UNREACHABLE.test(stdout)) return first?.trim()
  return `${first.trim()} (Maven could not reach its repository: run "mvn ${GOAL}" once with network access, or use --mode jar)`
}
