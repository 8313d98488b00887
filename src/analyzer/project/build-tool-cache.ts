import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { findModules } from '../classpath/project-layout.ts'
import { buildToolClassPath } from './build-tool-class-path.ts'
import type { BuildToolClassPath, BuildToolRequest } from './build-tool-request.ts'

/** Files that define a module's dependencies. */
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

/**
 * Caches a build tool's answer as long as the files that define the build are unchanged: asking takes
 * seconds.
 */
export class BuildToolCache {
  #cached: { readonly stamp: string; readonly answer: BuildToolClassPath } | undefined

  /** Returns the class path. @throws as `buildToolClassPath` */
  async get(request: BuildToolRequest): Promise<BuildToolClassPath> {
    const stamp = stampOf(request.root)
    const cached = this.#cached
    if (cached?.stamp === stamp && cached.answer.libraries.every((jar) => existsSync(jar)))
      return cached.answer
    const answer = await buildToolClassPath(request)
    // A missing dependency may exist next time.
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
