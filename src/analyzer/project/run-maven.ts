import type { BuildToolRequest } from './build-tool-request.ts'
import { runBuildTool } from './run-build-tool.ts'

const FLAGS = ['-B', '-Dstyle.color=never', '--fail-at-end']
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

/** Output of Maven for all modules that it could resolve. */
interface MavenOutput {
  /** Name of the program: "mvn" or "mvnw". */
  readonly name: string
  readonly stdout: string
  /** Reason why some modules are missing, with their names. */
  readonly failure: { readonly why: string; readonly modules: readonly string[] } | undefined
}

/** Runs goals that need no classes in all modules. If some modules fail, returns the output of the others. */
export async function runMaven(
  request: BuildToolRequest,
  flags: readonly string[],
  goals: readonly string[],
): Promise<MavenOutput> {
  const run = (...argv: readonly string[]) =>
    runBuildTool(request, { wrapper: 'mvnw', command: 'mvn' }, [...FLAGS, ...flags, ...argv, ...goals])
  const { status, stdout, name } = await run()
  if (status === 0) return { name, stdout, failure: undefined }
  const isMany = stdout.includes('Reactor Summary')
  const together = isMany ? await run(...TOGETHER) : undefined
  if (together?.status === 0) return { name, stdout: together.stdout, failure: undefined }
  const why = reasonOf(together?.stdout ?? stdout, goals) ?? `it exited with status ${status}`
  const without = [...(together?.stdout ?? '').matchAll(/^\[INFO\] (.+?) \.+ (?:FAILURE|SKIPPED)/gm)]
  const modules = without.flatMap(([, module]) => module ?? [])
  return { name, stdout: `${stdout}\n${together?.stdout ?? ''}`, failure: { why, modules } }
}

const UNREACHABLE =
  /offline mode|Unknown host|Could not transfer|Connection (?:refused|timed out)|No route to host/

/** Returns the first error, with a remedy if Maven has no network. */
function reasonOf(stdout: string, goals: readonly string[]): string | undefined {
  const [, first] = /^\[ERROR\] (.+)/m.exec(stdout) ?? []
  if (first === undefined || !UNREACHABLE.test(stdout)) return first?.trim()
  return `${first.trim()} (Maven could not reach its repository: run "mvn ${goals.join(' ')}" once with network access, or use --mode jar)`
}
