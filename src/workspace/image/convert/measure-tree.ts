import { lstatSync, lutimesSync, opendirSync, rmSync } from 'node:fs'
import { fault } from '../../errors.ts'
import { MAX_IMAGE_BYTES } from './cage.ts'

const BLOCK_BYTES = 4096
/** Of a path in the tree, as system calls take them. Source: limits.h. */
const PATH_MAX = 4096
const SLASH = Buffer.from('/')

/** What a file system for a tree needs. */
export interface TreeMeasure {
  readonly inodes: number
  readonly bytes: number
}

/**
 * Counts an unpacked image, and readies it to be made into a file system whose bytes depend on nothing but it: device nodes
 * go, which a VM's kernel makes itself, and what was changed since `startMs` gets the time 0 of all images. Names are bytes, in whatever
 * encoding. Synchronous: for worker threads.
 *
 * @throws BACKEND_ERROR for a tree that is too large
 * @param nodes inode numbers of files that stand for device nodes
 */
export function measureTree(tree: string, startMs: number, nodes: readonly number[] = []): TreeMeasure {
  const dropped = new Set(nodes)
  const seen = new Set<number>()
  let bytes = 0
  let inodes = 0
  const settle = (path: Buffer, mtimeMs: number): void => {
    if (mtimeMs >= startMs) lutimesSync(path, EPOCH_SECONDS, EPOCH_SECONDS)
  }
  const walk = (directory: Buffer): void => {
    let entryBytes = 0
    for (const name of namesIn(directory)) {
      const path = Buffer.concat([directory, SLASH, name])
      if (path.length >= PATH_MAX)
        throw fault('BACKEND_ERROR', `the image has a path of more than ${PATH_MAX} bytes`)
      const found = lstatSync(path)
      if (found.isDirectory()) walk(path)
      else if (!(found.isFile() || found.isSymbolicLink()) || dropped.has(found.ino)) {
        rmSync(path)
        continue
      } else if (found.nlink === 1 || !seen.has(found.ino)) {
        inodes++
        // A link's target up to 59 bytes is in its inode.
        bytes += found.isFile() || found.size > 59 ? blocks(found.size) : 0
        settle(path, found.mtimeMs)
        if (found.nlink > 1) seen.add(found.ino)
      }
      entryBytes += 12 + name.length
    }
    inodes++
    bytes += blocks(entryBytes) + BLOCK_BYTES
    if (bytes > MAX_IMAGE_BYTES)
      throw fault(
        'BACKEND_ERROR',
        `the image unpacks to more than ${MAX_IMAGE_BYTES / 2 ** 30} GiB, the most that is converted`,
      )
    // After what is in it, whose removal changes it.
    settle(directory, lstatSync(directory).mtimeMs)
  }
  walk(Buffer.from(tree))
  return { inodes, bytes }
}

/** The names in a directory, a few at a time: there may be millions. */
function* namesIn(directory: Buffer): Generator<Buffer> {
  // Its type knows names that are text alone.
  const opened = opendirSync(directory, { encoding: 'buffer' as BufferEncoding })
  try {
    for (let entry = opened.readSync(); entry !== null; entry = opened.readSync())
      yield entry.name as unknown as Buffer
  } finally {
    opened.closeSync()
  }
}

/** The time of what conversion itself makes: 2020-01-01, which no program takes for "never". */
export const EPOCH_SECONDS = 1_577_836_800

function blocks(bytes: number): number {
  return Math.ceil(bytes / BLOCK_BYTES) * BLOCK_BYTES
}
