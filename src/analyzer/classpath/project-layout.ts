import { existsSync, globSync, readdirSync, type Dirent } from 'node:fs'
import { basename, join, relative } from 'node:path'
import { counted } from '../../lib/cli/counted.ts'

/** A module of a project with its build output. */
export interface ProjectModule {
  /** Name of its folder; of the project's folder for the root. */
  readonly name: string
  readonly path: string
  readonly build: 'maven' | 'gradle' | 'plain'
  /** Existing folders with compiled classes, including test classes. */
  readonly classFolders: readonly string[]
  /** Archives that its build put into the module. */
  readonly libraries: readonly string[]
}

const buildFiles: readonly (readonly [file: string, build: ProjectModule['build']])[] = [
  ['pom.xml', 'maven'],
  ['build.gradle', 'gradle'],
  ['build.gradle.kts', 'gradle'],
  ['settings.gradle', 'gradle'],
  ['settings.gradle.kts', 'gradle'],
]

const MAVEN = ['target/classes', 'target/test-classes']
const GRADLE = [
  'build/classes/*/*',
  // The Android plugin, in the layouts of versions 3 to 8.0, 8.1 and later, and for Kotlin.
  'build/intermediates/javac/*/classes',
  'build/intermediates/javac/*/*/classes',
  'build/tmp/kotlin-classes/*',
  'build/intermediates/built_in_kotlinc/*/*/classes',
]
const SBT = [
  'target/scala-*/classes',
  'target/scala-*/test-classes',
  'target/out/jvm/scala-*/*/classes',
  'target/out/jvm/scala-*/*/test-classes',
]
/** Default output folders of each build tool, relative to the module. */
const classFolders: Readonly<Record<ProjectModule['build'], readonly string[]>> = {
  maven: MAVEN,
  gradle: [...GRADLE, 'out/production/classes', 'out/test/classes'],
  plain: [
    'bin',
    'classes',
    'build/classes',
    'out/production/*',
    'out/test/*',
    ...MAVEN,
    ...SBT,
    // Mill has the output of all modules below the root.
    ...['*', '*/*', '*/*/*', '*/*/*/*'].map((module) => `out/${module}/compile.dest/classes`),
  ],
}
/** Output folders of a module without a build file, which a folder above defines. */
const OUTPUT = [...MAVEN, ...GRADLE, ...SBT]
const libraries = [
  'lib/*',
  'libs/*',
  'target/dependency/*',
  'target/lib/*',
  'target/quarkus-app/lib/*/*',
  'build/quarkus-app/lib/*/*',
]
/** Extensions of archives with classes: of Java, of applications of Jakarta EE, and of Android's libraries. */
const ARCHIVE = /\.(?:jar|war|ear|rar|aar)$/

const BUILD_FILE = /^(?:pom\.xml|gradle\.properties|gradle\.lockfile|.+\.gradle|.+\.gradle\.kts)$/

const MAX_DEPTH = 8
/** Folders that contain no modules. */
const skipped = new Set(['node_modules', 'src', 'target', 'build', 'out', 'bin', 'dist', 'buildSrc'])

/**
 * Finds the modules below a project's root: each folder with a Maven or Gradle build file or with the output of a
 * build, and the root itself, sorted by path with the root first. Runs nothing and follows no symbolic links.
 */
export function findModules(root: string): readonly ProjectModule[] {
  const modules: ProjectModule[] = []
  const waiting = [root]
  for (let folder = waiting.shift(); folder !== undefined; folder = waiting.shift()) {
    const build = buildFiles.find(([file]) => existsSync(join(folder, file)))?.[1]
    const inside = foldersIn(folder)
    if (build !== undefined || folder === root) modules.push(moduleAt(folder, build ?? 'plain'))
    else if (inside.includes('build') || inside.includes('target')) {
      const module = moduleAt(folder, 'plain', OUTPUT)
      if (module.classFolders.length > 0) modules.push(module)
    }
    if (depthOf(root, folder) === MAX_DEPTH) continue
    const names = inside.filter((name) => !name.startsWith('.') && !skipped.has(name))
    waiting.push(...names.toSorted().map((name) => join(folder, name)))
  }
  return modules
}

/** Commands that compile a project, by a file in its root; undefined if its output is not searched. */
const compilers: readonly (readonly [file: string, tool: string, command: string | undefined])[] = [
  ['mvnw', 'Maven', './mvnw compile'],
  ['pom.xml', 'Maven', 'mvn compile'],
  ['gradlew', 'Gradle', './gradlew classes'],
  ['build.gradle', 'Gradle', 'gradle classes'],
  ['build.gradle.kts', 'Gradle', 'gradle classes'],
  ['settings.gradle', 'Gradle', 'gradle classes'],
  ['settings.gradle.kts', 'Gradle', 'gradle classes'],
  ['build.sbt', 'sbt', 'sbt compile'],
  ['build.xml', 'Ant', 'ant'],
  ['MODULE.bazel', 'Bazel', undefined],
  ['WORKSPACE', 'Bazel', undefined],
  ['WORKSPACE.bazel', 'Bazel', undefined],
  ['build.mill', 'Mill', 'mill __.compile'],
  ['build.sc', 'Mill', 'mill __.compile'],
]

/**
 * Explains that a project has no compiled classes: what to do, and where they were searched.
 *
 * @param named class folders that were named instead of searched
 */
export function explainNoClasses(root: string, named: readonly string[]): string {
  if (named.length > 0)
    return `no compiled classes found in ${named.join(', ')}, which "classes" names; compile the project and run "analyzer refresh"`
  const modules = findModules(root)
  const folders = [...new Set(modules.flatMap(({ build }) => classFolders[build]))]
  const [, tool, command] = compilers.find(([file]) => existsSync(join(root, file))) ?? []
  const where = `(searched ${counted(modules.length, 'module')} for ${folders.join(', ')})`
  const name = 'with "analyzer restart --classes DIR"'
  if (tool !== undefined && command === undefined)
    return `no compiled classes found; the output of ${tool} is not searched: name its class folders or archives ${name} ${where}`
  const compile = `compile the project${command === undefined ? '' : `, for example with "${command}"`}`
  return `no compiled classes found; ${compile}, and run "analyzer refresh", or name its class folders ${name} ${where}`
}

/** Returns whether a file in a module's folder defines its build. */
export function isBuildFile(name: string): boolean {
  return BUILD_FILE.test(name)
}

/** Returns whether a file's name is that of an archive with classes. */
export function isArchive(name: string): boolean {
  return ARCHIVE.test(name)
}

function moduleAt(
  path: string,
  build: ProjectModule['build'],
  output: readonly string[] = classFolders[build],
): ProjectModule {
  const found = (patterns: readonly string[], wanted: (entry: Dirent) => boolean) =>
    globSync([...patterns], { cwd: path, withFileTypes: true })
      .filter(wanted)
      .map((entry) => join(entry.parentPath, entry.name))
      .toSorted()
  return {
    name: basename(path),
    path,
    build,
    classFolders: found(output, (entry) => entry.isDirectory()),
    libraries: found(libraries, (entry) => entry.isFile() && isArchive(entry.name)),
  }
}

function foldersIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name)
  } catch {
    // An unreadable folder has no readable modules.
    return []
  }
}

function depthOf(root: string, folder: string): number {
  return folder === root ? 0 : relative(root, folder).split(/[/\\]/).length
}
