import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { findModules } from '../classpath/project-layout.ts'
import { askBuildTool } from './build-tool.ts'
import type { BuildToolAnswer, BuildToolQuestion } from './build-tool-question.ts'

/** Files of a module that say what it is built on. */
const DEFINITIONS = [
  'pom.xml',
  '.mvn/maven.config',
  '.mvn/extensions.xml',
  'build.gradle',
  'build.gradle.kts',
  'settings.gradle',
  'settings.gradle.kts',
  'gradle.properties',
  'gradle.lockfile',
  'gradle/libs.versions.toml',
]

/** Keeps a build tool's answer as long as the files that define the build are the same: asking takes seconds. */
export class BuildToolMemory {
  #known: { readonly stamp: string; readonly answer: BuildToolAnswer } | undefined

  /** @throws as `askBuildTool` */
  async ask(question: BuildToolQuestion): Promise<BuildToolAnswer> {
    const stamp = stampOf(question.root)
    const known = this.#known
    if (known?.stamp === stamp && known.answer.libraries.every((jar) => existsSync(jar))) return known.answer
    const answer = await askBuildTool(question)
    // What was missing may be there the next time.
    this.#known = answer.isWhole ? { stamp, answer } : undefined
    return answer
  }
}

function stampOf(root: string): string {
  const files = findModules(root).flatMap(({ path }) => DEFINITIONS.map((file) => join(path, file)))
  return files
    .map((file) => {
      const stat = statSync(file, { throwIfNoEntry: false })
      return stat === undefined ? '' : `${file} ${stat.size} ${stat.mtimeMs}`
    })
    .filter((line) => line !== '')
    .join('\n')
}
