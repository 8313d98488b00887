import { KeySet } from '../publication/key-set.ts'
import { type Manifest, type Published, type PublishedFiles, usedKeys } from '../publication/manifest.ts'
import { INDEX_FILE } from '../search/search-index.ts'
import type { LocalFile } from './list-folder.ts'
import { isSentCompressed } from './send-contents.ts'

/** A file to publish. */
export type NextFile = Omit<Published, 'modified'>

/** Input of the next manifest. */
interface Found {
  readonly before: Manifest
  /** Files of the folder. */
  readonly files: readonly LocalFile[]
  readonly index: NextFile
  /** Whether files that are not in the folder are no longer published. */
  readonly deletes: boolean
  /** Whether a file is no longer published even if others that are not in the folder are. */
  readonly isRemoved?: (path: string) => boolean
  /** Keys of the contents in the store, relative to the manifest's folder. */
  readonly there: KeySet
  readonly nowMs: number
}

/** Returns the manifest that publishes files. It retires all objects that they do not use. */
export function nextManifest(found: Found): Manifest {
  const { before, there, nowMs } = found
  const inPlace = new Map([...before.inPlace].filter(([path]) => isKept(found, path)))
  let size = 0
  for (const { path } of nextFiles(found)) {
    inPlace.delete(path)
    size++
  }
  // Those of a large site are determined each time instead of kept.
  const next = { files: { size, values: () => nextFiles(found) }, inPlace }
  const used = new KeySet(usedKeys(next))
  const retired = new Map([...before.retired].filter(([key]) => !used.has(key)))
  for (const keys of [usedKeys(before), indexInPlace(before), there])
    for (const key of keys) if (!used.has(key) && !retired.has(key)) retired.set(key, nowMs)
  return { ...next, retired }
}

/** Whether a published file that is not in the folder remains. */
function isKept({ deletes, isRemoved }: Found, path: string): boolean {
  return !deletes && isRemoved?.(path) !== true
}

function* nextFiles(found: Found): Generator<Published> {
  const { before, files, index, nowMs } = found
  for (const { old, file } of joinByPath(before.files.values(), withIndex(files, index)))
    if (file !== undefined) yield { ...file, modified: old?.sha256 === file.sha256 ? old.modified : nowMs }
    else if (old !== undefined && isKept(found, old.path)) yield old
}

/** Yields files to publish, and the index where its path belongs. */
function* withIndex(files: readonly LocalFile[], index: NextFile): Generator<NextFile> {
  let isFollowing = false
  for (const file of files) {
    const { path, size, sha256 } = file
    if (!isFollowing && index.path < path) {
      yield index
      isFollowing = true
    }
    yield { path, size, sha256, compressed: isSentCompressed(file) }
  }
  if (!isFollowing) yield index
}

/** A published file, the one of the same path that follows it, or both. */
interface Joined<T> {
  readonly old: Published | undefined
  readonly file: T | undefined
}

/** Joins two series that are sorted by path. */
function* joinByPath<T extends Pick<Published, 'path'>>(
  published: Iterable<Published>,
  files: Iterable<T>,
): Generator<Joined<T>> {
  const olds = published[Symbol.iterator]()
  let old = olds.next()
  for (const file of files) {
    for (; old.done !== true && old.value.path < file.path; old = olds.next())
      yield { old: old.value, file: undefined }
    if (old.done === true || old.value.path !== file.path) yield { old: undefined, file }
    else {
      yield { old: old.value, file }
      old = olds.next()
    }
  }
  for (; old.done !== true; old = olds.next()) yield { old: old.value, file: undefined }
}

/** Returns the key of the index of an earlier version of this program. */
function indexInPlace({ files, inPlace }: Manifest): readonly string[] {
  return inPlace.size > 0 && indexOf(files) === undefined ? [INDEX_FILE] : []
}

/** Returns the paths that are published and not in the folder. */
export function absentPaths({ files, inPlace }: Manifest, local: readonly LocalFile[]): readonly string[] {
  const absent = new Set<string>()
  for (const { old, file } of joinByPath(files.values(), local))
    if (old !== undefined && file === undefined && old.path !== INDEX_FILE) absent.add(old.path)
  if (inPlace.size === 0) return [...absent]
  const paths = new Set(local.map(({ path }) => path)).add(INDEX_FILE)
  for (const path of inPlace.keys()) if (!paths.has(path)) absent.add(path)
  return [...absent]
}

/** Whether all files are published with their contents. @param local sorted by path */
export function arePublished({ files }: Manifest, local: readonly LocalFile[]): boolean {
  for (const { old, file } of joinByPath(files.values(), local))
    if (file !== undefined && old?.sha256 !== file.sha256) return false
  return true
}

/** Whether two manifests publish the same files and retire the same objects. */
export function isSameManifest(a: Manifest, b: Manifest): boolean {
  return (
    a.files.size === b.files.size &&
    a.retired.size === b.retired.size &&
    a.inPlace.size === b.inPlace.size &&
    areSameFiles(a.files, b.files) &&
    [...a.retired].every(([key, since]) => b.retired.get(key) === since) &&
    [...a.inPlace].every(([path, isCompressed]) => b.inPlace.get(path) === isCompressed)
  )
}

function areSameFiles(a: PublishedFiles, b: PublishedFiles): boolean {
  for (const { old, file } of joinByPath(a.values(), b.values()))
    if (old === undefined || file === undefined || !isSameFile(old, file)) return false
  return true
}

function isSameFile(a: Published, b: Published): boolean {
  return a.sha256 === b.sha256 && a.compressed === b.compressed && a.modified === b.modified
}

/** Returns the index if it is still in the store. */
export function storedIndex({ files }: Manifest, there: KeySet): Published | undefined {
  const index = indexOf(files)
  return index !== undefined && there.hasContent(index.sha256, index.compressed) ? index : undefined
}

function indexOf(files: PublishedFiles): Published | undefined {
  for (const file of files.values()) if (file.path === INDEX_FILE) return file
  return undefined
}
