import type { BuildToolClassPath, BuildToolRequest } from './build-tool-request.ts'
import { archivesOf } from './run-build-tool.ts'
import { runMaven } from './run-maven.ts'

/** Asks Maven for the class paths of all modules. If some fail, returns those of the others. */
export async function mavenClassPath(request: BuildToolRequest): Promise<BuildToolClassPath> {
  const { name, stdout, failure } = await runMaven(
    request,
    ['-Dmdep.includeScope=test'],
    ['dependency:build-classpath'],
  )
  const libraries = librariesIn(stdout)
  const answer: BuildToolClassPath = {
    tool: 'maven',
    libraries,
    classFolders: [],
    isWhole: failure === undefined,
  }
  if (failure === undefined) return answer
  if (libraries.length === 0) throw new Error(`${name}: ${failure.why}`)
  request.logger.warn(failure, 'Maven returned no class path for these modules')
  return answer
}

/** Maven prints one line of paths for each module under its own heading. */
function librariesIn(stdout: string): string[] {
  const classPaths = [...stdout.matchAll(/Dependencies classpath:.*\n(.*)/g)]
  return archivesOf(classPaths.map(([, classPath = '']) => classPath))
}
