import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { gradleClassPath } from './gradle-class-path.ts'
import { mavenClassPath } from './maven-class-path.ts'
import type { BuildToolClassPath, BuildToolRequest } from './build-tool-request.ts'

const GRADLE_FILES = ['settings.gradle', 'settings.gradle.kts', 'build.gradle', 'build.gradle.kts']

/**
 * Asks the project's build tool for the class paths of its modules. This runs the tool, and therefore code of
 * the project's build.
 *
 * @throws Error when there is no answer, with the reason
 */
export async function buildToolClassPath(request: BuildToolRequest): Promise<BuildToolClassPath> {
  const has = (file: string): boolean => existsSync(join(request.root, file))
  if (has('pom.xml')) return mavenClassPath(request)
  if (GRADLE_FILES.some(has)) return gradleClassPath(request)
  throw new Error('only Maven and Gradle are supported: the project has neither a pom.xml nor a build.gradle')
}
