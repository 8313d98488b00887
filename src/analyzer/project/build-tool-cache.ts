import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { findModules } from '../classpath/project-layout.ts'
import { buildToolClassPath } from './build-tool-class-path.ts'
import type { BuildToolClassPath, BuildToolRequest } from './build-tool-request.ts'

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
export class BuildToolCache {
  #cached: { readonly stamp: string; readonly answer: BuildToolClassPath } | undefined

  /** @throws as `buildToolClassPath` */
  async ask(question: BuildToolRequest): Promise<BuildToolClassPath> {
    const stamp = stampOf(question.root)
    const cached = this.#cached
    if (cached?.stamp === stamp && cached.answer.libraries.every((jar) => existsSync(jar)))
      return cached.answer
    const answer = await buildToolClassPath(question)
    // What was missing may be there the next time.
    this.#cached = answer.isWhole ? { stamp, answer } : undefined
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
