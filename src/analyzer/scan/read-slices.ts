import { lstatSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { ignore } from '../../lib/errors/ignore.ts'
import type { ClassPathProblem } from '../classpath/class-container.ts'
import { fileIdentity } from '../classpath/list-classes.ts'
import { readClasses } from '../classpath/read-classes.ts'
import { fault } from '../errors.ts'
import { digestLayout } from '../index/digest.ts'
import { type ListTask, slicedEntryOf } from './list-entry.ts'
import { type Slice, stampOf } from '../index/slices.ts'
import { SliceStore } from '../index/store.ts'

/** Task to read slices of a class path entry. */
export interface ReadTask {
  readonly entry: ListTask
  /** Keys of the slices to read. */
  readonly keys: readonly string[]
  readonly storeDir: string
}

/** Result of a read task. */
export interface ReadReport {
  /** Keys that were stored. */
  readonly stored: readonly string[]
  readonly classCount: number
  readonly problems: readonly ClassPathProblem[]
}

/** Minimum free disk space: lmdb corrupts its memory when a disk gets full (measured with 3.5.6). */
const SPARE_BYTES = 256 * 2 ** 20

let store: { readonly directory: string; readonly store: SliceStore } | undefined

/**
 * Reads slices of a class path entry into the store, in a pool process: class files are untrusted, and
 * servers never write the store. A slice whose classes changed since they were listed is not stored.
 *
 * @throws SCAN_FAILED when the disk is full
 */
export async function readSlices({ entry, keys, storeDir }: ReadTask): Promise<ReadReport> {
  const { slices, stamp } = slicedEntryOf(entry, keys)
  const wanted = new Set(keys)
  const stored: string[] = []
  const problems: ClassPathProblem[] = []
  let classCount = 0
  // Reads the next slice while one is written.
  let written = Promise.resolve()
  for (const slice of slices) {
    if (!wanted.has(slice.key)) continue
    const { facts, digest, problems: own } = await readClasses(slice.container, slice.classes, digestLayout)
    // A class file replaced meanwhile would be stored under the key of the previous one.
    if (!isUnchanged(slice, stamp)) continue
    await written
    stored.push(slice.key)
    problems.push(...own)
    classCount += facts.classes.count
    written = write(writingStore(storeDir), slice.key, facts.buffer, digest)
    written.catch(ignore('it is awaited before the next write'))
  }
  await written
  return { stored, classCount, problems }
}

/**
 * Stores a slice and frees its buffers: V8 would collect garbage repeatedly because of memory outside its
 * heap.
 */
async function write(to: SliceStore, key: string, facts: ArrayBuffer, digest: ArrayBuffer): Promise<void> {
  await to.put(key, facts, digest)
  facts.transfer(0)
  digest.transfer(0)
}

function isUnchanged({ container, classes }: Slice, stamp: string | undefined): boolean {
  try {
    if (container.kind !== 'folder') return stampOf(container.path) === stamp
    return classes.every(
      ({ file, identity }) => fileIdentity(lstatSync(join(container.path, file))) === identity,
    )
  } catch {
    return false
  }
}

/** Whether a slice is stored, for any project. It may be damaged, which shows when it is used. */
export function isStored(storeDir: string, key: string): boolean {
  try {
    return opened(storeDir).has(key)
  } catch {
    // The store is damaged or deleted, which is handled where it is used.
    return true
  }
}

function opened(directory: string): SliceStore {
  if (store?.directory !== directory) store = { directory, store: SliceStore.open(directory, 'write') }
  return store.store
}

/** Returns the store of this process for writing. @throws SCAN_FAILED when the disk is nearly full */
export function writingStore(directory: string): SliceStore {
  const { bavail, bsize } = statfsSync(directory)
  if (bavail * bsize < SPARE_BYTES) {
    throw fault(
      'SCAN_FAILED',
      `${directory} has less than 256 MiB free; free some space or set ANALYZER_CACHE_DIR`,
    )
  }
  return opened(directory)
}
