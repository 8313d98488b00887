import { lstatSync, readdirSync, statSync, type Stats } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../../lib/errors/message.ts'
import { listArchive } from './archive-classes.ts'
import { withFile, type ByteSource } from './byte-source.ts'
import type { ClassContainer, ClassEntry, ClassPathProblem } from './class-container.ts'
import { readImage } from './jimage.ts'

export interface ClassPathListing {
  readonly containers: readonly ClassContainer[]
  readonly problems: readonly ClassPathProblem[]
}

const imageMagic = 0xdadafeca

/**
 * The classes at one place of a class path: a folder, a jar with those inside it, a jmod, or a JDK's `lib/modules`. It reads
 * directories, not class files; what cannot be listed is a problem. Symbolic links inside a folder are not followed.
 *
 * @param release the Java release whose multi-release classes count, for example 17
 */
export function listClasses(path: string, release: number): ClassPathListing {
  const problems: ClassPathProblem[] = []
  try {
    if (statSync(path).isDirectory()) return { containers: [listFolder(path, problems)], problems }
    return { containers: withFile(path, (source) => listFile(path, source, release, problems)), problems }
  } catch (error) {
    return { containers: [], problems: [...problems, { path, offset: 0, message: messageOf(error) }] }
  }
}

function listFile(
  path: string,
  source: ByteSource,
  release: number,
  problems: ClassPathProblem[],
): readonly ClassContainer[] {
  const head = source.read(0, Math.min(4, source.bytes))
  if (head.length === 4 && head.readUInt32BE(0) === imageMagic) return [listImage(path, source)]
  return listArchive(path, source, release, problems)
}

function listImage(path: string, source: ByteSource): ClassContainer {
  const classes = readImage(source).flatMap(({ module, name, extent }): ClassEntry[] => {
    if (!name.endsWith('.class')) return []
    const identity = `${extent.offset}-${extent.bytes}`
    const own = { file: `${module}/${name}`, bytes: extent.bytes, identity, release: 0, module, extent }
    return [{ name: name.slice(0, -'.class'.length), ...own }]
  })
  return { path, kind: 'image', inside: [], deflated: undefined, classes }
}

function listFolder(path: string, problems: ClassPathProblem[]): ClassContainer {
  const classes: ClassEntry[] = []
  const waiting = ['']
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    const entries =
      attempt(problems, join(path, folder), (at) => readdirSync(at, { withFileTypes: true })) ?? []
    for (const entry of entries) {
      const file = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (entry.isDirectory() && file !== 'META-INF') waiting.push(file)
      if (!entry.isFile() || !entry.name.endsWith('.class')) continue
      const stat = attempt(problems, `${path}/${file}`, (at) => lstatSync(at))
      if (stat !== undefined) classes.push(folderEntry(file, stat))
    }
  }
  classes.sort((a, b) => (a.name < b.name ? -1 : 1))
  return { path, kind: 'folder', inside: [], deflated: undefined, classes }
}

function folderEntry(file: string, stat: Stats): ClassEntry {
  const name = file.slice(0, -'.class'.length)
  const identity = fileIdentity(stat)
  return { name, file, bytes: stat.size, identity, release: 0, module: undefined, extent: undefined }
}

/** Of a class file in a folder. Times are told apart from a quarter of a microsecond on; as BigInts they take twice as long. */
export function fileIdentity({ size, mtimeMs }: Pick<Stats, 'size' | 'mtimeMs'>): string {
  return `${size}-${mtimeMs}`
}

function attempt<Result>(
  problems: ClassPathProblem[],
  path: string,
  read: (path: string) => Result,
): Result | undefined {
  try {
    return read(path)
  } catch (error) {
    problems.push({ path, offset: 0, message: messageOf(error) })
    return undefined
  }
}
