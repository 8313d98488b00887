import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import type { ClassContainer, ClassEntry, ClassPathProblem } from '../classpath/class-container.ts'
import { listClasses } from '../classpath/list-classes.ts'
import { STORE_VERSION } from './store.ts'

/** Classes that are read, stored and kept together. */
export interface Slice {
  /** Says which bytes it is made of: of an archive's the archive's hash, of a folder's the names, sizes and times. */
  readonly key: string
  readonly container: ClassContainer
  readonly classes: readonly ClassEntry[]
}

export interface SlicedEntry {
  readonly slices: readonly Slice[]
  readonly problems: readonly ClassPathProblem[]
  /** Of an archive as it was listed. */
  readonly stamp: string | undefined
}

const ARCHIVE_SLICE = 256
/** Of a folder's slices: about so many, and at most. */
const FOLDER_SLICE = 160
const MAX_FOLDER_SLICE = 512

/** Divides one place of a class path. Reads directories and, of an archive, all bytes for its hash. */
export function slicesOf(path: string, release: number, hashOf: (stamp: string) => string): SlicedEntry {
  let problems: readonly ClassPathProblem[] = []
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    // Before and after: the list, the hash and the stamp must be of the same bytes, since they are kept under that hash for all.
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
  const message = 'it changes while it is read; refresh when that is done'
  return { slices: [], problems: [...problems, { path, offset: 0, message }], stamp: undefined }
}

const ATTEMPTS = 3

function hashIfWhole(stamp: string, hashOf: (stamp: string) => string): string | undefined {
  try {
    return hashOf(stamp)
  } catch {
    // It has gone, or become shorter, since it was listed.
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
 * By the order of names, divided where a name's checksum says so: one class more or less changes its own slice and no other
 * (content-defined chunking).
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

/** What tells an archive from one that was there before at its place, without reading it. */
export function stampOf(path: string): string {
  const { dev, ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true })
  return [path, dev, ino, size, mtimeNs, ctimeNs].join(' ')
}

export function stampIfThere(path: string): string | undefined {
  try {
    return stampOf(path)
  } catch {
    return undefined
  }
}
