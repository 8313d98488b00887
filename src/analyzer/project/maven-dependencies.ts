import { join } from 'node:path'
import { readUntrusted } from '../../lib/fs/read-untrusted.ts'
import { findModules } from '../classpath/project-layout.ts'
import type { BuildToolRequest } from './build-tool-request.ts'
import type { DependencyModule, DependencyReport, ModuleDependency } from './dependency-report.ts'
import { runMaven } from './run-maven.ts'

/**
 * Asks Maven which dependencies each module declares and which others they bring. If some modules fail,
 * returns the others.
 *
 * @throws Error when Maven reports none, with the reason
 */
export async function mavenDependencies(request: BuildToolRequest): Promise<DependencyReport> {
  // The tree shows which dependencies are declared, and the list has their files.
  const { name, stdout, failure } = await runMaven(
    request,
    ['-DoutputAbsoluteArtifactFilename=true'],
    ['dependency:list', 'dependency:tree'],
  )
  const printed = readModules(stdout)
  if (printed.length === 0) throw new Error(`${name}: ${failure?.why ?? 'it printed no dependency tree'}`)
  const folders = foldersByName(request.root)
  // A parent's dependencies are those of its modules, which inherit them.
  const compiled = printed.filter(({ packaging }) => packaging !== 'pom')
  const modules = compiled.flatMap((module): DependencyModule[] => {
    const folder = folders.get(module.name)
    if (folder === undefined) return []
    return [{ name: module.name, folder, dependencies: dependenciesOf(module, folders) }]
  })
  const unlocated = compiled.map(({ name: each }) => each).filter((each) => !folders.has(each))
  return { modules, missing: [...new Set([...(failure?.modules ?? []), ...unlocated])] }
}

interface PrintedModule {
  /** "group:artifact". */
  readonly name: string
  readonly packaging: string
  /** Files by "group:artifact:type:version". */
  readonly files: ReadonlyMap<string, string>
  readonly tree: readonly PrintedDependency[]
}

interface PrintedDependency {
  readonly coordinates: string
  readonly scope: string
  /** 1 for a declared dependency. */
  readonly depth: number
}

/** Longer than any POM that people write. */
const MAX_POM_BYTES = 4 * 2 ** 20
const GOAL = /^--- \S*dependency\S*:(list|tree) \(.*$/
const OTHER_GOAL = /^---.* ---$/
const FILE = /^ {3}([^\s/]+):([^:\s/]+):(\/.+?)(?: \(optional\) ?)?(?: ?-- module .*)?$/
const ROOT = /^([^\s:|+\\]+:[^\s:]+):([^\s:]+):\S+$/
const NODE = /^((?:[| ] {2})*)[+\\]- ([^\s:]+(?::[^\s:]+){3,4}):([^\s:]+)/

/** Reads the lists and trees of modules. A run that was repeated has some twice: the last one counts. */
function readModules(stdout: string): readonly PrintedModule[] {
  const modules = new Map<string, PrintedModule>()
  let goal: string | undefined
  let files = new Map<string, string>()
  let tree: PrintedDependency[] = []
  for (const raw of stdout.split('\n')) {
    const line = raw.replace(/^\[INFO\] /, '').trimEnd()
    const [, begun] = GOAL.exec(line) ?? []
    if (begun !== undefined) {
      goal = begun
      if (begun === 'list') files = new Map()
    } else if (OTHER_GOAL.test(line)) goal = undefined
    else if (goal === 'list') {
      const [, coordinates, , file] = FILE.exec(line) ?? []
      if (coordinates !== undefined && file !== undefined) files.set(coordinates, file)
    } else if (goal === 'tree') {
      const [, name, packaging = ''] = ROOT.exec(line) ?? []
      const [, indent = '', coordinates, scope] = NODE.exec(line) ?? []
      if (coordinates !== undefined && scope !== undefined)
        tree.push({ coordinates, scope, depth: indent.length / 3 + 1 })
      else if (name !== undefined) {
        tree = []
        modules.set(name, { name, packaging, files, tree })
      }
    }
  }
  return [...modules.values()]
}

function dependenciesOf(
  { files, tree }: PrintedModule,
  folders: ReadonlyMap<string, string>,
): readonly ModuleDependency[] {
  let declared = ''
  return tree.map(({ coordinates, scope, depth }) => {
    if (depth === 1) declared = coordinates
    return {
      coordinates,
      scope,
      path: moduleOutput(coordinates, folders) ?? files.get(coordinates),
      broughtBy: depth === 1 ? undefined : declared,
    }
  })
}

/** Returns the class folder of a dependency that is a module; its jar has the same classes. */
function moduleOutput(coordinates: string, folders: ReadonlyMap<string, string>): string | undefined {
  const [group = '', artifact = '', type = '', classifier = ''] = coordinates.split(':')
  const folder = folders.get(`${group}:${artifact}`)
  if (folder === undefined) return undefined
  return join(folder, 'target', type === 'test-jar' || classifier === 'tests' ? 'test-classes' : 'classes')
}

/** Returns the folders of the modules below the root by "group:artifact", as their POMs name them. */
function foldersByName(root: string): ReadonlyMap<string, string> {
  const named = findModules(root).flatMap(({ path, build }): [string, string][] => {
    const name = build === 'maven' ? nameIn(join(path, 'pom.xml')) : undefined
    return name === undefined ? [] : [[name, path]]
  })
  return new Map(named)
}

/** Returns "group:artifact" of a POM; the group may be that of its parent. Undefined if it cannot be read. */
function nameIn(pom: string): string | undefined {
  const texts = elementTexts(read(pom))
  const group = texts.get('project/groupId') ?? texts.get('project/parent/groupId')
  const artifact = texts.get('project/artifactId')
  return group === undefined || artifact === undefined ? undefined : `${group}:${artifact}`
}

function read(pom: string): string {
  try {
    return readUntrusted(pom, MAX_POM_BYTES)
  } catch {
    return ''
  }
}

/** A start or end tag, and the text up to the next tag. Each character is tried once, for files that no XML parser would accept. */
const TAG = /<(\/?)([\w.-]+)(?=[\s/>])([^<>]*)>([^<]*)/g

/** Returns the first text of each element of an XML document, by its path. */
function elementTexts(xml: string): ReadonlyMap<string, string> {
  const texts = new Map<string, string>()
  const open: string[] = []
  const tags = withoutComments(xml).matchAll(TAG)
  for (const [, closing, name = '', attributes = '', text = ''] of tags) {
    if (closing === '/') open.pop()
    else if (!attributes.endsWith('/')) {
      open.push(name)
      const path = open.join('/')
      if (!texts.has(path)) texts.set(path, text.trim())
    }
  }
  return texts
}

function withoutComments(xml: string): string {
  const pieces: string[] = []
  let at = 0
  for (let start = xml.indexOf('<!--'); start >= 0; start = xml.indexOf('<!--', at)) {
    pieces.push(xml.slice(at, start))
    const end = xml.indexOf('-->', start)
    at = end < 0 ? xml.length : end + '-->'.length
  }
  return pieces.join('') + xml.slice(at)
}
