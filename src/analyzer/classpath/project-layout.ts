import { existsSync, globSync, readdirSync, type Dirent } from 'node:fs'
import { basename, join, relative } from 'node:path'

/** One module of a project, with what has been built of it. */
export interface ProjectModule {
  /** Its folder's name; the project's for the root. */
  readonly name: string
  readonly path: string
  readonly build: 'maven' | 'gradle' | 'plain'
  /** Folders with its compiled classes, tests included; those that are there. */
  readonly classFolders: readonly string[]
  /** Jars that its build has put beside it. */
  readonly libraries: readonly string[]
}

const buildFiles: readonly (readonly [file: string, build: ProjectModule['build']])[] = [
  ['pom.xml', 'maven'],
  ['build.gradle', 'gradle'],
  ['build.gradle.kts', 'gradle'],
  ['settings.gradle', 'gradle'],
  ['settings.gradle.kts', 'gradle'],
]

/** Where each build puts classes, below the module; the build tools' own defaults. */
const classFolders: Readonly<Record<ProjectModule['build'], readonly string[]>> = {
  maven: ['target/classes', 'target/test-classes'],
  gradle: ['build/classes/*/*', 'out/production/classes', 'out/test/classes'],
  plain: ['bin', 'classes', 'build/classes', 'out/production/*', 'out/test/*', 'target/scala-*/classes'],
}
const libraries = ['lib/*.jar', 'libs/*.jar', 'target/dependency/*.jar', 'target/lib/*.jar']

const MAX_DEPTH = 8
/** Of no module. */
const skipped = new Set(['node_modules', 'src', 'target', 'build', 'out', 'bin', 'dist', 'buildSrc'])

/**
 * The modules below a project's root as the files lie there: each folder with a Maven or Gradle build file, and the root itself.
 * Nothing is run, and symbolic links are not followed. In the order of their paths, the root first.
 */
export function findModules(root: string): readonly ProjectModule[] {
  const modules: ProjectModule[] = []
  const waiting = [root]
  for (let folder = waiting.shift(); folder !== undefined; folder = waiting.shift()) {
    const build = buildFiles.find(([file]) => existsSync(join(folder, file)))?.[1]
    if (build !== undefined || folder === root) modules.push(moduleAt(folder, build ?? 'plain'))
    if (depthOf(root, folder) === MAX_DEPTH) continue
    const names = foldersIn(folder).filter((name) => !name.startsWith('.') && !skipped.has(name))
    waiting.push(...names.toSorted().map((name) => join(folder, name)))
  }
  return modules
}

function moduleAt(path: string, build: ProjectModule['build']): ProjectModule {
  const found = (patterns: readonly string[], wanted: (entry: Dirent) => boolean) =>
    globSync([...patterns], { cwd: path, withFileTypes: true })
      .filter(wanted)
      .map((entry) => join(entry.parentPath, entry.name))
      .toSorted()
  return {
    name: basename(path),
    path,
    build,
    classFolders: found(classFolders[build], (entry) => entry.isDirectory()),
    libraries: found(libraries, (entry) => entry.isFile()),
  }
}

function foldersIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name)
  } catch {
    // One that cannot be read holds no module that could be.
    return []
  }
}

function depthOf(root: string, folder: string): number {
  return folder === root ? 0 : relative(root, folder).split(/[/\\]/).length
}
