import { createHash } from 'node:crypto'
import { existsSync, globSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Static } from 'typebox'
import { type Clock, systemClock } from '../../lib/clock/clock.ts'
import { findProgram } from '../../lib/process/find-program.ts'
import { makeDirs } from '../../lib/fs/make-dirs.ts'
import { writeFileDurable } from '../../lib/fs/write-durable.ts'
import { parseJson } from '../../lib/schema/parse-json.ts'
import { Type } from '../../lib/schema/type.ts'
import { findModules, isBuildFile } from '../classpath/project-layout.ts'
import { buildToolClassPath } from './build-tool-class-path.ts'
import {
  type BuildToolClassPath,
  type BuildToolRequest,
  buildToolClassPathSchema,
} from './build-tool-request.ts'

/** Files in the project's root that define dependencies, as glob patterns. */
const ROOT_FILES = [
  '{mvnw,gradlew}',
  '.mvn/{maven.config,extensions.xml,jvm.config,settings.xml,wrapper/maven-wrapper.properties}',
  'gradle/{*.versions.toml,*.gradle,*.gradle.kts,wrapper/gradle-wrapper.properties}',
  'buildSrc/{*,src/**}',
]
/** Files in the user's home directory that change a build tool's answer, as glob patterns. */
const USER_FILES = [
  '.m2/{settings.xml,toolchains.xml}',
  '.gradle/{gradle.properties,init.gradle,init.gradle.kts}',
  '.gradle/init.d/*',
]
const VARIABLES = /^(?:MAVEN_|MVN|M2_|GRADLE_|ORG_GRADLE_|JAVA_OPTS|JDK_JAVA_OPTIONS)/
const PROGRAMS = ['mvn', 'gradle']
/** Both tools look for newer snapshots and ranges of versions once a day by default. */
const MAX_AGE_MS = 24 * 60 * 60 * 1000

const savedSchema = Type.Object({
  stamp: Type.String(),
  saved_at_ms: Type.Integer(),
  answer: buildToolClassPathSchema,
})

/**
 * Caches a build tool's answer as long as the files that define the build are unchanged, because asking takes seconds. The next
 * start uses it too, if it is less than a day old.
 */
export class BuildToolCache {
  readonly #folder: string
  readonly #clock: Clock
  #cached: Static<typeof savedSchema> | undefined

  constructor(folder: string, clock: Clock = systemClock) {
    this.#folder = folder
    this.#clock = clock
  }

  /** Returns the class path. @throws as `buildToolClassPath` */
  async get(request: BuildToolRequest): Promise<BuildToolClassPath> {
    const stamp = await stampOf(request)
    this.#cached ??= this.#read(request.root)
    if (this.#cached?.stamp === stamp && this.#cached.answer.libraries.every((jar) => existsSync(jar)))
      return this.#cached.answer
    const answer = await buildToolClassPath(request)
    // A missing dependency may exist next time.
    this.#cached = answer.isWhole ? { stamp, saved_at_ms: this.#clock.wallMs(), answer } : undefined
    if (this.#cached !== undefined) await this.#save(request.root, this.#cached)
    return answer
  }

  #read(root: string): Static<typeof savedSchema> | undefined {
    try {
      const saved = parseJson(savedSchema, readFileSync(this.#fileOf(root), 'utf8'))
      if (saved === undefined) return undefined
      const ageMs = this.#clock.wallMs() - saved.saved_at_ms
      return ageMs >= 0 && ageMs < MAX_AGE_MS ? saved : undefined
    } catch {
      return undefined
    }
  }

  async #save(root: string, saved: Static<typeof savedSchema>): Promise<void> {
    try {
      makeDirs(this.#folder, 0o700)
      await writeFileDurable(this.#fileOf(root), JSON.stringify(saved), { mode: 0o600 })
    } catch {
      // Only an optimization: on a full disk the next start asks again.
    }
  }

  #fileOf(root: string): string {
    return join(this.#folder, `${createHash('sha256').update(root).digest('hex')}.json`)
  }
}

/** Returns a stamp that changes whenever the build tool may answer differently. */
export async function stampOf({ root, jvm }: BuildToolRequest): Promise<string> {
  const programs = await Promise.all(PROGRAMS.map(findProgram))
  const files = [
    ...findModules(root).flatMap(({ path }) => moduleFiles(path)),
    ...parentPoms(root),
    ...matches(root, ROOT_FILES),
    ...matches(homedir(), USER_FILES),
    ...programs.filter((program) => program !== undefined),
  ]
  const variables = Object.entries(process.env).filter(([name]) => VARIABLES.test(name))
  const lines = [
    ...files.map(stampOfFile),
    ...variables.map(([name, value]) => `${name}=${value}`).toSorted(),
    jvm?.home ?? '',
  ]
  return createHash('sha256').update(lines.join('\n')).digest('hex')
}

function moduleFiles(folder: string): readonly string[] {
  try {
    const names = readdirSync(folder).filter(isBuildFile)
    return names.toSorted().map((name) => join(folder, name))
  } catch {
    // The build tool reports a folder that cannot be read.
    return []
  }
}

function matches(folder: string, patterns: readonly string[]): readonly string[] {
  const files = globSync(patterns, { cwd: folder })
  return files.toSorted().map((file) => join(folder, file))
}

/** Returns the POMs in the folders above, which may be parents of the project's. */
function parentPoms(root: string): readonly string[] {
  const pom = join(dirname(root), 'pom.xml')
  return existsSync(pom) ? [pom, ...parentPoms(dirname(root))] : []
}

/** The time of change cannot be set, unlike that of modification. */
function stampOfFile(file: string): string {
  const stat = statSync(file, { throwIfNoEntry: false })
  return `${file} ${stat?.size} ${stat?.ctimeMs} ${stat?.ino}`
}
