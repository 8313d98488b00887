import { statSync, type Stats } from 'node:fs'
import { counted } from '../../lib/cli/counted.ts'
import { messageOf } from '../../lib/errors/message.ts'
import { listFiles } from '../../native/files/list-files.ts'
import { listArchive } from './archive-classes.ts'
import { withFile, type ByteSource } from './byte-source.ts'
import type { ClassContainer, ClassEntry, ClassPathProblem } from './class-container.ts'
import { readImage } from './jimage.ts'

/** Classes of a class path entry. */
export interface ClassPathListing {
  readonly containers: readonly ClassContainer[]
  readonly problems: readonly ClassPathProblem[]
}

const CLASS = '.class'
const IMAGE_MAGIC = 0xdadafeca

/**
 * Lists the classes of a class path entry: a folder, a jar with its nested jars, a jmod, or a JDK's
 * `lib/modules`. Reads directories, not class files; reports what cannot be listed as a problem. Does not
 * follow symbolic links inside a folder.
 *
 * @param release Java release that selects multi-release classes, for example 17
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
  if (head.length === 4 && head.readUInt32BE(0) === IMAGE_MAGIC) return [listImage(path, source, problems)]
  return listArchive(path, source, release, problems)
}

function listImage(path: string, source: ByteSource, problems: ClassPathProblem[]): ClassContainer {
  let unreadable = 0
  const classes = readImage(source).flatMap(({ module, name, extent }): ClassEntry[] => {
    if (!name.endsWith(CLASS)) return []
    if (extent === undefined) {
      unreadable++
      return []
    }
    const identity = `${extent.offset}-${extent.bytes}`
    const own = { file: `${module}/${name}`, bytes: extent.bytes, identity, release: 0, module, extent }
    return [{ name: name.slice(0, -CLASS.length), ...own }]
  })
  if (unreadable > 0) {
    const left = counted(unreadable, 'class is', 'classes are')
    const message = `${left} left out, because their compression is not supported; link the image with "jlink --compress=2" (zip-6 since JDK 21), or without --compress`
    problems.push({ path, offset: 0, message })
  }
  return { path, kind: 'image', inside: [], deflated: undefined, classes }
}

function listFolder(path: string, problems: ClassPathProblem[]): ClassContainer {
  const listed = listFiles(path, { ending: CLASS, skipped: 'META-INF' })
  for (const error of listed.problems)
    problems.push({ path: error.path ?? path, offset: 0, message: messageOf(error) })
  const classes = listed.files.map(({ name: file, bytes, modifiedMs }): ClassEntry => {
    const name = file.slice(0, -CLASS.length)
    const identity = fileIdentity({ size: bytes, mtimeMs: modifiedMs })
    return { name, file, bytes, identity, release: 0, module: undefined, extent: undefined }
  })
  return { path, kind: 'folder', inside: [], deflated: undefined, classes }
}

/**
 * Returns the identity of a class file in a folder. Times differ from a quarter of a microsecond on; BigInt
 * times would be exact but take twice as long.
 */
export function fileIdentity({ size, mtimeMs }: Pick<Stats, 'size' | 'mtimeMs'>): string {
  return `${size}-${mtimeMs}`
}
