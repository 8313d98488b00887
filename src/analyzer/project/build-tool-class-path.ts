import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { gradleClassPath } from './gradle-class-path.ts'
import { mavenClassPath } from './maven-class-path.ts'
import type { BuildToolClassPath, BuildToolRequest } from './build-tool-request.ts'

const GRADLE_FILES = ['settings.gradle', 'settings.gradle.kts', 'build.gradle', 'build.gradle.kts']

/**
 * Asks the project's build tool for the class paths of its modules. This runs the tool, and so what the project's build
 * defines.
 *
 * @throws an Error that says why there is no answer
 */
export async function buildToolClassPath(question: BuildToolRequest): Promise<BuildToolClassPath> {
  const has = (file: string): boolean => existsSync(join(question.root, file))
  if (has('pom.xml')) return mavenClassPath(question)
  if (GRADLE_FILES.some(has)) return gradleClassPath(question)
  throw new Error('only Maven and Gradle are asked: there is neither a pom.xml nor a build.gradle')
}
