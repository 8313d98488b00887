import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { askGradle } from './ask-gradle.ts'
import { askMaven } from './ask-maven.ts'
import type { BuildToolAnswer, BuildToolQuestion } from './build-tool-question.ts'

const GRADLE_FILES = ['settings.gradle', 'settings.gradle.kts', 'build.gradle', 'build.gradle.kts']

/**
 * Asks the project's build tool for the class paths of its modules. This runs the tool, and so what the project's build
 * defines.
 *
 * @throws an Error that says why there is no answer
 */
export async function askBuildTool(question: BuildToolQuestion): Promise<BuildToolAnswer> {
  const has = (file: string): boolean => existsSync(join(question.root, file))
  if (has('pom.xml')) return askMaven(question)
  if (GRADLE_FILES.some(has)) return askGradle(question)
  throw new Error('only Maven and Gradle are asked: there is neither a pom.xml nor a build.gradle')
}
