import { extname } from 'node:path'
import type { Extent } from '../../native/classfile.ts'
import { messageOf } from '../../lib/errors/message.ts'
import { partOf, type ByteSource } from './byte-source.ts'
import {
  displayPath,
  MAX_CLASS_BYTES,
  type ClassContainer,
  type ClassEntry,
  type ClassPathProblem,
} from './class-container.ts'
import { withNestedArchive } from './nested-archive.ts'
import { dataOffset, readExtent } from './read-extent.ts'
import { MAX_ENTRIES, readZipDirectory, type ZipEntry } from './zip-directory.ts'

const MAX_MANIFEST_BYTES = 2 ** 20
const MAX_DEPTH = 2
/**
 * Class files deflate to a half or a third of their size. An archive that inflates to more than this and to
 * so many times its size is treated as an attack.
 */
const MANY_BYTES = 2 ** 26
const MAX_RATIO = 100
/**
 * Entry limit of any archive, including nested archives; a larger archive may have one entry per so many of
 * its bytes. Real archives have one per 1,500 bytes or more. An entry takes 600 bytes of memory; one for an
 * empty class takes 170 bytes of the archive.
 */
const FEW_ENTRIES = 2 ** 14
const BYTES_PER_ENTRY = 1_024
/** Where archives contain others, by the extension of the outer one; else as in jars and web archives. */
const nestedArchives: Readonly<Record<string, RegExp>> = {
  '.ear': /^(?:[^/]+\.(?:jar|war|rar)|(?:APP-INF\/)?lib\/[^/]+\.jar)$/,
  '.rar': /^[^/]+\.jar$/,
  '.aar': /^(?:classes\.jar|libs\/[^/]+\.jar)$/,
}
const nestedInJar = /^(?:BOOT-INF\/lib|WEB-INF\/lib|lib)\/[^/]+\.jar$/
const classOfJar = /^(?:BOOT-INF\/classes\/|WEB-INF\/classes\/)?(?:META-INF\/versions\/(\d+)\/)?(.+)\.class$/
const classOfJmod = /^classes\/(?:META-INF\/versions\/(\d+)\/)?(.+)\.class$/

/** The JDK's JarFile knows the versions of an archive from entries that do not end with "/", in any case. */
const VERSION = /^META-INF\/versions\/(\d+)\/.*[^/]$/i

/** Location of an archive: in a file, or in another archive. */
interface ArchiveLocation {
  readonly path: string
  readonly inside: readonly string[]
  /** Source of the outermost file's bytes. */
  readonly source: ByteSource
  /** Added to offsets to make them relative to the file, or to the inflated `deflated`. */
  readonly base: number
  readonly deflated: Extent | undefined
}

/**
 * Lists the classes of a jar, of an archive of an application (WAR, EAR, RAR, AAR) and of the archives in it, or of a jmod.
 *
 * @param problems receives what cannot be listed
 */
export function listArchive(
  path: string,
  source: ByteSource,
  release: number,
  problems: ClassPathProblem[],
): readonly ClassContainer[] {
  const containers: ClassContainer[] = []
  let left = Math.min(MAX_ENTRIES, Math.max(FEW_ENTRIES, Math.floor(source.bytes / BYTES_PER_ENTRY)))
  // A jmod is a zip file after a short header.
  const isJmod = source.bytes >= 2 && source.read(0, 2).toString('latin1') === 'JM'
  const tryToEnter = (archive: ArchiveLocation, entry: ZipEntry): void => {
    try {
      enter(archive, entry, visit)
    } catch (error) {
      problems.push({ path: displayPath(archive, entry.name), offset: 0, message: messageOf(error) })
    }
  }
  // Visits one archive at a time with its nested archives, so that never two deflated ones are in memory.
  const visit = (archive: ArchiveLocation): void => {
    try {
      let empty = 0
      const isEmptyClass = (name: string, bytes: number): boolean => {
        const isEmpty = bytes === 0 && name.endsWith('.class')
        if (isEmpty) empty++
        return isEmpty
      }
      const repeated: string[] = []
      const entries = readZipDirectory(archive.source, isEmptyClass, left, (name) => repeated.push(name))
      left -= entries.length
      const [first] = repeated
      if (first !== undefined)
        problems.push({
          path: displayPath(archive, first),
          offset: 0,
          message: `the archive has ${repeated.length === 1 ? 'this entry' : `this entry and ${repeated.length - 1} others`} more than once; the last is read, as by a JVM`,
        })
      if (empty > 0)
        problems.push({
          path: displayPath(archive),
          offset: 0,
          message: `${empty} class files are empty`,
        })
      containers.push(containerOf(archive, entries, isJmod ? classOfJmod : classOfJar, release, problems))
      if (isJmod || archive.inside.length === MAX_DEPTH) return
      const nested = nestedArchives[extname(archive.inside.at(-1) ?? path)] ?? nestedInJar
      for (const entry of entries) if (nested.test(entry.name)) tryToEnter(archive, entry)
    } catch (error) {
      problems.push({ path: displayPath(archive), offset: 0, message: messageOf(error) })
    }
  }
  visit({ path, inside: [], source, base: 0, deflated: undefined })
  return containers
}

function containerOf(
  archive: ArchiveLocation,
  entries: readonly ZipEntry[],
  classFile: RegExp,
  release: number,
  problems: ClassPathProblem[],
): ClassContainer {
  const { path, inside, deflated } = archive
  const counts = hasVersions(archive, entries)
  const versions = new Set(entries.flatMap(({ name }) => VERSION.exec(name)?.[1] ?? []))
  const classes = new Map<string, ClassEntry>()
  let unreachable = 0
  for (const { name: file, extent, isEncrypted } of byLookup(entries)) {
    const [, version, name] = classFile.exec(file.endsWith('/') ? file.slice(0, -1) : file) ?? []
    if (name === undefined || name.startsWith('META-INF/')) continue
    if (/(?:^|\/)\.{0,2}(?:\/|$)/.test(name)) {
      unreachable++
      continue
    }
    const since = version === undefined ? 0 : Number(version)
    if (since > 0 && (!counts || since > release || !versions.has(version ?? ''))) continue
    if (isEncrypted) {
      problems.push({ path: displayPath(archive, file), offset: 0, message: 'it is encrypted' })
      continue
    }
    const existing = classes.get(name)
    if (existing !== undefined && existing.release >= since) continue
    const at = archive.base === 0 ? extent : { ...extent, offset: archive.base + extent.offset }
    classes.set(name, {
      name,
      file,
      bytes: extent.bytes,
      identity: '',
      release: since,
      module: undefined,
      extent: at,
    })
  }
  if (unreachable > 0)
    problems.push({
      path: displayPath(archive),
      offset: 0,
      message: `${unreachable} class files are left out, because no JVM finds their names, with empty parts, "." or ".."`,
    })
  rejectBomb(archive, classes.values())
  return { path, kind: 'archive', inside, deflated, classes: [...classes.values()] }
}

/** Sorts entries whose names end with "/" behind the others: a JVM finds a class in them if no other entry has its name. */
function byLookup(entries: readonly ZipEntry[]): readonly ZipEntry[] {
  return [...entries.filter((entry) => !isFolder(entry)), ...entries.filter(isFolder)]
}

function isFolder({ name }: ZipEntry): boolean {
  return name.endsWith('/')
}

function rejectBomb({ source }: ArchiveLocation, classes: Iterable<ClassEntry>): void {
  let sum = 0
  for (const { bytes } of classes) if (bytes <= MAX_CLASS_BYTES) sum += bytes
  if (sum <= MANY_BYTES || sum <= MAX_RATIO * source.bytes) return
  throw new Error(
    `its classes would inflate to ${sum} bytes, ${Math.floor(sum / source.bytes)} times its size`,
  )
}

function hasVersions({ source }: ArchiveLocation, entries: readonly ZipEntry[]): boolean {
  // As for a JVM: in any case, and the last one counts.
  const manifest = entries.findLast(({ name }) => name.toUpperCase() === 'META-INF/MANIFEST.MF')
  if (manifest === undefined || manifest.isEncrypted) return false
  return isMultiRelease(readExtent(source, manifest.extent, MAX_MANIFEST_BYTES).toString())
}

/**
 * Visits a nested archive. A stored one is a part of its file; a deflated one is inflated during the visit.
 */
function enter(
  archive: ArchiveLocation,
  { name, extent }: ZipEntry,
  visit: (archive: ArchiveLocation) => void,
): void {
  const { path, source, base } = archive
  const inside = [...archive.inside, name]
  if (extent.method === 0) {
    const start = dataOffset(source, extent)
    visit({ ...archive, inside, source: partOf(source, start, extent.bytes), base: base + start })
    return
  }
  // This way, a later read inflates one archive, not a chain of them.
  if (archive.deflated !== undefined)
    throw new Error(`${name} is a deflated archive inside a deflated archive, which is not read`)
  const deflated = { ...extent, offset: base + extent.offset }
  withNestedArchive(path, deflated, (nested) =>
    visit({ ...archive, inside, source: nested, base: 0, deflated }),
  )
}

/**
 * Whether a manifest's main section has `Multi-Release: true`; META-INF/versions counts only then. Like the JDK's JarFile,
 * which compares bytes: a line with other blanks, one that continues or one without its line break does not count.
 */
function isMultiRelease(manifest: string): boolean {
  const found = /(?:^|[\r\n])multi-release: true(?:\r\n|\r(?!\n)|\n)(?! )/i.exec(manifest)
  const mainEnd = /(?:\r\n|\r(?!\n)|\n)[\r\n]/.exec(manifest)?.index ?? manifest.length
  return found !== null && found.index <= mainEnd
}
