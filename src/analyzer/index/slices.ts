import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import type { ClassContainer, ClassEntry, ClassPathProblem } from '../classpath/class-container.ts'
import { listClasses } from '../classpath/list-classes.ts'
import { STORE_VERSION } from './store.ts'

/** Classes that are read and stored together. */
export interface Slice {
  /** Identifies the content: an archive's hash, or the names, sizes and times of a folder's files. */
  readonly key: string
  readonly container: ClassContainer
  readonly classes: readonly ClassEntry[]
}

/** Slices of a class path entry. */
export interface SlicedEntry {
  readonly slices: readonly Slice[]
  readonly problems: readonly ClassPathProblem[]
  /** Stamp of an archive when it was listed. */
  readonly stamp: string | undefined
}

const ARCHIVE_SLICE = 256
/** Average and maximum size of a folder's slices. */
const FOLDER_SLICE = 160
const MAX_FOLDER_SLICE = 512

/** Divides a class path entry into slices. Reads directories, and all bytes of an archive for its hash. */
export function slicesOf(path: string, release: number, hashOf: (stamp: string) => string): SlicedEntry {
  let problems: readonly ClassPathProblem[] = []
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    // Compared before and after: list, hash and stamp must be of the same bytes, because all projects share
    // what is stored under that hash.
    const stamp = stampIfThere(path)
    const listed = listClasses(path, release)
    problems = listed.problems
    const { containers } = listed
    if (containers.length === 0) return { slices: [], problems, stamp: undefined }
    if (containers[0]?.kind === 'folder')
      return { slices: containers.flatMap(folderSlices), problems, stamp: undefined }
    const hash = stamp === undefined ? undefined : hashIfWhole(stamp, hashOf)
    if (stamp !== undefined && hash !== undefined && stampIfThere(path) === stamp)
      return { slices: containers.flatMap((each) => archiveSlices(each, release, hash)), problems, stamp }
  }
  const message = 'it is changing while it is read; refresh when the build is done'
  return { slices: [], problems: [...problems, { path, offset: 0, message }], stamp: undefined }
}

const ATTEMPTS = 3

function hashIfWhole(stamp: string, hashOf: (stamp: string) => string): string | undefined {
  try {
    return hashOf(stamp)
  } catch {
    // It was deleted or truncated since it was listed.
    return undefined
  }
}

function archiveSlices(container: ClassContainer, release: number, hash: string): readonly Slice[] {
  const { classes, inside } = container
  return Array.from({ length: Math.ceil(classes.length / ARCHIVE_SLICE) }, (_, place) => ({
    key: keyOf(['archive', hash, String(release), ...inside, String(place)]),
    container,
    classes: classes.slice(place * ARCHIVE_SLICE, (place + 1) * ARCHIVE_SLICE),
  }))
}

/**
 * Divides classes in name order at names whose checksum is a boundary, so that adding or removing a class
 * changes only its own slice (content-defined chunking).
 */
function folderSlices(container: ClassContainer): readonly Slice[] {
  const groups: ClassEntry[][] = []
  for (const entry of container.classes) {
    const group = groups.at(-1)
    const begins = crc32(entry.name) % FOLDER_SLICE === 0
    if (group === undefined || begins || group.length === MAX_FOLDER_SLICE) groups.push([entry])
    else group.push(entry)
  }
  return groups.map((classes) => ({
    key: keyOf(['folder', container.path, ...classes.flatMap(({ file, identity }) => [file, identity])]),
    container,
    classes,
  }))
}

function keyOf(parts: readonly string[]): string {
  const text = [STORE_VERSION, ...parts].join('\0')
  return createHash('sha256').update(text).digest('base64url').slice(0, 32)
}

/** Returns a stamp that differs from that of an earlier file at the same path, without reading the file. */
export function stampOf(path: string): string {
  const { dev, ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true })
  return [path, dev, ino, size, mtimeNs, ctimeNs].join(' ')
}

/** Returns the stamp of a file, or undefined if it does not exist. */
export function stampIfThere(path: string): string | undefined {
  try {
    return stampOf(path)
  } catch {
    return undefined
  }
}
