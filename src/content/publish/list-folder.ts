import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import { open, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../../lib/errors/message.ts'
import { fault } from '../errors.ts'
import { mapConcurrently } from '../repo/repo-list.ts'
import type { HashedFile, HashMemory } from './hash-memory.ts'
import { isKey } from '../store/store.ts'

const PARALLEL = 16
const HASHED_AT_ONCE = 256 * 1024

/** A file to publish. */
export interface LocalFile extends HashedFile {
  readonly folder: string
  readonly size: number
}

/** Returns the location of a file, which is not kept: it takes as much memory as its path and hash. */
export function locationOf({ folder, path }: LocalFile): string {
  return join(folder, path)
}

/** Files of a folder. */
export interface Listing {
  /** By path. */
  readonly files: readonly LocalFile[]
  /** Paths that are not regular files, or not valid keys; bytes that are not UTF-8 are replaced. */
  readonly skipped: readonly string[]
}

/**
 * Returns the files of a folder with their hashes. Does not follow links, so nothing outside is published.
 *
 * @param memory hashes of earlier runs
 * @throws PUBLISH_INVALID when the folder cannot be read
 */
export async function listFolder(folder: string, memory?: HashMemory): Promise<Listing> {
  const skipped: string[] = []
  const paths: string[] = []
  await walk(folder, '', paths, skipped).catch((error: unknown) => {
    throw fault('PUBLISH_INVALID', `the folder ${folder} cannot be read: ${messageOf(error)}`, error)
  })
  const files: LocalFile[] = []
  await mapConcurrently(PARALLEL, paths, async (path) => {
    const file = join(folder, path)
    const { size, stamp, changedMs } = await stampOf(file)
    const sha256 = memory?.take(path, stamp) ?? (await hashOf(file, size))
    files.push({ folder, path, size, sha256, stamp, changedMs })
  })
  return { files: files.toSorted((a, b) => (a.path < b.path ? -1 : 1)), skipped: skipped.toSorted() }
}

async function walk(folder: string, below: string, paths: string[], skipped: string[]): Promise<void> {
  // As text, a name that is not UTF-8 would become the name of another file.
  const entries = await readdir(join(folder, below), { withFileTypes: true, encoding: 'buffer' })
  for (const entry of entries) {
    const path = below + entry.name.toString()
    const isValid = isUtf8(entry.name) && isKey(path)
    if (isValid && entry.isDirectory()) await walk(folder, `${path}/`, paths, skipped)
    else if (isValid && entry.isFile()) paths.push(path)
    else skipped.push(path)
  }
}

/** Returns the stamp, size and time of the last change of a file. */
export async function stampOf(file: string): Promise<Pick<LocalFile, 'size' | 'stamp' | 'changedMs'>> {
  const { size, mtimeNs, ctimeNs, ino } = await stat(file, { bigint: true })
  const latest = mtimeNs > ctimeNs ? mtimeNs : ctimeNs
  return {
    size: Number(size),
    stamp: [size, mtimeNs, ctimeNs, ino].map((each) => each.toString(36)).join('-'),
    changedMs: Number(latest / 1_000_000n),
  }
}

/** Returns the SHA-256 of a file in hexadecimal. @param size about the size of the file, in bytes */
export async function hashOf(file: string, size: number): Promise<string> {
  const hash = createHash('sha256')
  const opened = await open(file)
  try {
    const buffer = Buffer.allocUnsafe(Math.min(size + 1, HASHED_AT_ONCE))
    for (;;) {
      const { bytesRead } = await opened.read(buffer)
      if (bytesRead === 0) return hash.digest('hex')
      hash.update(buffer.subarray(0, bytesRead))
    }
  } finally {
    await opened.close()
  }
}
