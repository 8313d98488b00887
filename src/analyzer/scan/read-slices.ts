import { lstatSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import type { ClassPathProblem } from '../classpath/class-container.ts'
import { fileIdentity } from '../classpath/list-classes.ts'
import { readClasses } from '../classpath/read-classes.ts'
import { fault } from '../errors.ts'
import { digestLayout } from '../index/digest.ts'
import { type ListTask, slicedEntryOf } from './list-entry.ts'
import { type Slice, stampOf } from '../index/slices.ts'
import { SliceStore } from '../index/store.ts'

export interface ReadTask {
  readonly entry: ListTask
  /** Of the slices to read. */
  readonly keys: readonly string[]
  readonly storeDir: string
}

export interface ReadReport {
  /** Keys that are in the store now. */
  readonly stored: readonly string[]
  readonly classCount: number
  readonly problems: readonly ClassPathProblem[]
}

/** lmdb damages its memory on a disk that gets full (measured with 3.5.6): it is not let come to that. */
const SPARE_BYTES = 256 * 2 ** 20

let store: { readonly directory: string; readonly store: SliceStore } | undefined

/**
 * Reads slices of one place into the store, in a pool's process: class files are untrusted, and the store is written in no
 * server's. A slice whose classes have changed since they were listed is not stored.
 *
 * @throws SCAN_FAILED on a full disk
 */
export async function readSlices({ entry, keys, storeDir }: ReadTask): Promise<ReadReport> {
  const { slices, stamp } = slicedEntryOf(entry, keys)
  const wanted = new Set(keys)
  const stored: string[] = []
  const problems: ClassPathProblem[] = []
  let classCount = 0
  // While one slice is written, the next is read.
  let written = Promise.resolve()
  for (const slice of slices) {
    if (!wanted.has(slice.key)) continue
    const { facts, digest, problems: own } = await readClasses(slice.container, slice.classes, digestLayout)
    // One that was replaced while it was read would be kept under the old one's key.
    if (!isUnchanged(slice, stamp)) continue
    await written
    stored.push(slice.key)
    problems.push(...own)
    classCount += facts.classes.count
    written = write(writingStore(storeDir), slice.key, facts.buffer, digest)
    written.catch(() => undefined)
  }
  await written
  return { stored, classCount, problems }
}

/** Takes the buffers' memory away: V8 would collect garbage again and again for what lies outside its heap. */
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

/** Whether a slice has been read before, for whatever project. It may be damaged: that shows when it is used. */
export function isStored(storeDir: string, key: string): boolean {
  try {
    return opened(storeDir).has(key)
  } catch {
    // The store is damaged, or has gone: it is looked at where it is used.
    return true
  }
}

function opened(directory: string): SliceStore {
  if (store?.directory !== directory) store = { directory, store: SliceStore.open(directory, 'write') }
  return store.store
}

/** The store of this process, to write; throws SCAN_FAILED where the disk is nearly full. */
export function writingStore(directory: string): SliceStore {
  const { bavail, bsize } = statfsSync(directory)
  if (bavail * bsize < SPARE_BYTES) {
    throw fault(
      'SCAN_FAILED',
      `${directory} has less than 256 MiB free; make room, or set ANALYZER_CACHE_DIR`,
    )
  }
  return opened(directory)
}
