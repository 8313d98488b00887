import { lstatSync, lutimesSync, opendirSync, rmSync } from 'node:fs'
import { fault } from '../../errors.ts'
import { MAX_IMAGE_BYTES } from './conversion-sandbox.ts'

const BLOCK_BYTES = 4096
/** Maximum length of a path in a system call. Source: limits.h. */
const PATH_MAX = 4096
const SLASH = Buffer.from('/')

/** Requirements of a file system for a tree. */
export interface TreeMeasure {
  readonly inodes: number
  readonly bytes: number
}

/**
 * Measures an unpacked image and prepares it for a reproducible file system: removes device nodes, which a
 * VM's kernel creates itself, and resets the times of everything changed since `startMs`. Names are bytes in
 * any encoding. Synchronous: for worker threads.
 *
 * @throws BACKEND_ERROR when the tree is too large
 * @param nodes inode numbers of files that represent device nodes
 */
export function measureTree(tree: string, startMs: number, nodes: readonly number[] = []): TreeMeasure {
  const dropped = new Set(nodes)
  const seen = new Set<number>()
  let bytes = 0
  let inodes = 0
  const resetTimes = (path: Buffer, mtimeMs: number): void => {
    if (mtimeMs >= startMs) lutimesSync(path, EPOCH_SECONDS, EPOCH_SECONDS)
  }
  const walk = (directory: Buffer): void => {
    let entryBytes = 0
    for (const name of namesIn(directory)) {
      const path = Buffer.concat([directory, SLASH, name])
      if (path.length >= PATH_MAX)
        throw fault('BACKEND_ERROR', `the image contains a path longer than ${PATH_MAX} bytes`)
      const found = lstatSync(path)
      if (found.isDirectory()) walk(path)
      else if (!(found.isFile() || found.isSymbolicLink()) || dropped.has(found.ino)) {
        rmSync(path)
        continue
      } else if (found.nlink === 1 || !seen.has(found.ino)) {
        inodes++
        // A link target of up to 59 bytes is stored in the inode.
        bytes += found.isFile() || found.size > 59 ? blocks(found.size) : 0
        resetTimes(path, found.mtimeMs)
        if (found.nlink > 1) seen.add(found.ino)
      }
      entryBytes += 12 + name.length
    }
    inodes++
    bytes += blocks(entryBytes) + BLOCK_BYTES
    if (bytes > MAX_IMAGE_BYTES)
      throw fault(
        'BACKEND_ERROR',
        `the image unpacks to more than ${MAX_IMAGE_BYTES / 2 ** 30} GiB, which is the limit`,
      )
    // After its entries, whose removal changes its time.
    resetTimes(directory, lstatSync(directory).mtimeMs)
  }
  walk(Buffer.from(tree))
  return { inodes, bytes }
}

/** Yields the names in a directory a few at a time: there may be millions. */
function* namesIn(directory: Buffer): Generator<Buffer> {
  // The type declares only names that are text.
  const opened = opendirSync(directory, { encoding: 'buffer' as BufferEncoding })
  try {
    for (let entry = opened.readSync(); entry !== null; entry = opened.readSync())
      yield entry.name as unknown as Buffer
  } finally {
    opened.closeSync()
  }
}

/** Time of everything that a conversion creates: 2020-01-01, which no program mistakes for "never". */
export const EPOCH_SECONDS = 1_577_836_800

function blocks(bytes: number): number {
  return Math.ceil(bytes / BLOCK_BYTES) * BLOCK_BYTES
}
