import { existsSync, globSync, readdirSync, type Dirent } from 'node:fs'
import { basename, join, relative } from 'node:path'

/** A module of a project with its build output. */
export interface ProjectModule {
  /** Name of its folder; of the project's folder for the root. */
  readonly name: string
  readonly path: string
  readonly build: 'maven' | 'gradle' | 'plain'
  /** Existing folders with compiled classes, including test classes. */
  readonly classFolders: readonly string[]
  /** Jars that its build put into the module. */
  readonly libraries: readonly string[]
}

const buildFiles: readonly (readonly [file: string, build: ProjectModule['build']])[] = [
  ['pom.xml', 'maven'],
  ['build.gradle', 'gradle'],
  ['build.gradle.kts', 'gradle'],
  ['settings.gradle', 'gradle'],
  ['settings.gradle.kts', 'gradle'],
]

/** Default output folders of each build tool, relative to the module. */
const classFolders: Readonly<Record<ProjectModule['build'], readonly string[]>> = {
  maven: ['target/classes', 'target/test-classes'],
  gradle: ['build/classes/*/*', 'out/production/classes', 'out/test/classes'],
  plain: ['bin', 'classes', 'build/classes', 'out/production/*', 'out/test/*', 'target/scala-*/classes'],
}
const libraries = ['lib/*.jar', 'libs/*.jar', 'target/dependency/*.jar', 'target/lib/*.jar']

const MAX_DEPTH = 8
/** Folders that contain no modules. */
const skipped = new Set(['node_modules', 'src', 'target', 'build', 'out', 'bin', 'dist', 'buildSrc'])

/**
 * Finds the modules below a project's root: each folder with a Maven or Gradle build file, and the root
 * itself, sorted by path with the root first. Runs nothing and follows no symbolic links.
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
    // An unreadable folder has no readable modules.
    return []
  }
}

function depthOf(root: string, folder: string): number {
  return folder === root ? 0 : relative(root, folder).split(/[/\\]/).length
}
