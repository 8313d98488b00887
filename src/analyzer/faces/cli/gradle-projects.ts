import { existsSync } from 'node:fs'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { isWithin } from '../../../lib/fs/is-within.ts'
import { readUntrusted } from '../../../lib/fs/read-untrusted.ts'
import { codeLines } from '../../changes/java-code.ts'

/** A project of a Gradle build. */
export interface GradleProject {
  /** "" for the root project, ":web:api" for others; with the name of its build if that is an included one. */
  readonly path: string
  readonly isIncluded: boolean
}

const SETTINGS = ['settings.gradle', 'settings.gradle.kts']
const MAX_BYTES = 2 ** 20

/** Projects of a Gradle build, as far as its settings list them in literals; runs nothing (threat A9). */
export class GradleProjects {
  readonly #root: string
  /** Projects by their folders. */
  readonly #projects = new Map<string, GradleProject>()
  /** Whether the settings list all projects, instead of computing some. */
  #isWhole = true

  /** @param folder project or build in which Gradle is started; it searches the folders above for settings */
  constructor(folder: string) {
    this.#root = folder
    for (let above = folder; ; above = dirname(above)) {
      if (settingsOf(above) !== undefined) {
        this.#add(above, { path: '', isIncluded: false })
        if (this.#projects.has(folder) || !this.#isWhole) {
          this.#root = above
          return
        }
        // Settings of other projects.
        this.#projects.clear()
      }
      if (dirname(above) === above) break
    }
    this.#add(folder, { path: '', isIncluded: false })
  }

  /** Returns the project of a folder; undefined if the folder is in no project of the build. */
  find(folder: string): GradleProject | undefined {
    const known = this.#projects.get(folder)
    if (known !== undefined || this.#isWhole || !isWithin(folder, this.#root)) return known
    return { path: `:${relative(this.#root, folder).split(sep).join(':')}`, isIncluded: false }
  }

  /** Returns the project that contains a folder, which is that of the nearest folder above. */
  around(folder: string): GradleProject | undefined {
    for (let above = folder; ; above = dirname(above)) {
      const known = this.#projects.get(above)
      if (known !== undefined || dirname(above) === above) return known
    }
  }

  #add(root: string, project: GradleProject): void {
    if (this.#projects.has(root)) return
    this.#projects.set(root, project)
    const settings = settingsOf(root)
    if (settings === undefined) return
    const { folders, builds, isWhole } = readSettings(root, settings)
    if (!isWhole) this.#isWhole = false
    for (const [path, folder] of folders)
      if (!this.#projects.has(folder)) this.#projects.set(folder, { ...project, path: project.path + path })
    for (const build of builds)
      this.#add(build, { path: `${project.path}:${basename(build)}`, isIncluded: true })
  }
}

function settingsOf(folder: string): string | undefined {
  return SETTINGS.map((name) => join(folder, name)).find((file) => existsSync(file))
}

const LITERAL = String.raw`(?:"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')`
const LITERALS = String.raw`${LITERAL}(?:\s*,\s*${LITERAL})*`
/** Statements of settings in Groovy and Kotlin; a string outside of them is skipped. */
const STATEMENT = new RegExp(
  [
    String.raw`project\s*\(\s*(?<overridden>${LITERAL})\s*\)\s*\.\s*(?:projectDir\s*=|setProjectDir\b)(?<folder>[^\n;]*)`,
    String.raw`\b(?<include>include(?:Build)?)\b[\s(]*(?:(?:\[|\*?(?:listOf|arrayOf)\s*\()\s*)?(?<names>${LITERALS})?(?<rest>\s*[,+.]?)`,
    String.raw`\b(?<script>apply)\b[\s(]*from\b`,
    LITERAL,
  ].join('|'),
  'g',
)
/** Names that a shell and Gradle leave as they are. */
const PROJECT = /^:?[^\s:*?[\]\\/"'`$<>|]+(?::[^\s:*?[\]\\/"'`$<>|]+)*$/

interface Settings {
  /** Folder of each project below the root, by its path. */
  readonly folders: ReadonlyMap<string, string>
  /** Folders of included builds. */
  readonly builds: readonly string[]
  readonly isWhole: boolean
}

function readSettings(root: string, file: string): Settings {
  const folders = new Map<string, string>()
  const builds: string[] = []
  let isWhole = true
  for (const { groups = {} } of textOf(file).matchAll(STATEMENT)) {
    const { overridden, folder = '', include, names = '', rest, script } = groups
    if (overridden !== undefined) {
      const moved = folderOf(root, folder)
      if (moved === undefined) isWhole = false
      else folders.set(`:${unquoted(overridden).replace(/^:/, '')}`, moved)
    } else if (include !== undefined) {
      const literals = literalsOf(names)
      // A list that an expression continues, or one without literals, is computed.
      if (literals.length === 0 || rest?.trim() !== '') isWhole = false
      for (const name of literals) {
        if (include === 'includeBuild') builds.push(resolve(root, name))
        else if (PROJECT.test(name)) includeProject(root, name, folders)
        else isWhole = false
      }
    } else if (script !== undefined) isWhole = false
  }
  return { folders, builds, isWhole }
}

/** Adds a project and those above it; a project's folder is below that of its parent, which can be overridden. */
function includeProject(root: string, name: string, folders: Map<string, string>): void {
  let path = ''
  let folder = root
  for (const part of name.replace(/^:/, '').split(':')) {
    path += `:${part}`
    folder = folders.get(path) ?? join(folder, part)
    folders.set(path, folder)
  }
}

const ROOT = /^\$(?:\{(?:rootDir|settingsDir|rootProject\.projectDir)\}|rootDir|settingsDir)\/?/

/** Returns the folder that an expression such as `new File(settingsDir, 'a')` names; undefined if it computes one. */
function folderOf(root: string, expression: string): string | undefined {
  const parts = literalsOf(expression).map((part) => part.replace(ROOT, ''))
  if (parts.length === 0 || expression.includes('+') || parts.some((part) => part.includes('$')))
    return undefined
  return resolve(root, ...parts)
}

function literalsOf(text: string): readonly string[] {
  return Array.from(text.matchAll(new RegExp(LITERAL, 'g')), ([literal]) => unquoted(literal))
}

const unquoted = (literal: string): string => literal.slice(1, -1)

function textOf(file: string): string {
  try {
    return codeLines(readUntrusted(file, MAX_BYTES)).join('\n')
  } catch {
    // Gradle reports it. Projects are named by their folders then.
    return 'include'
  }
}
