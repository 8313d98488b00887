import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../../lib/errors/message.ts'
import { fault } from '../errors.ts'
import { mapConcurrently } from '../repo/repo-list.ts'
import { isKey } from '../store/store.ts'

const PARALLEL = 16

/** A file to publish. */
export interface LocalFile {
  /** Path relative to the folder, with slashes. */
  readonly path: string
  readonly file: string
  readonly size: number
  readonly sha256: string
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
 * @throws PUBLISH_INVALID when the folder cannot be read
 */
export async function listFolder(folder: string): Promise<Listing> {
  const skipped: string[] = []
  const paths: string[] = []
  await walk(folder, '', paths, skipped).catch((error: unknown) => {
    throw fault('PUBLISH_INVALID', `the folder ${folder} cannot be read: ${messageOf(error)}`, error)
  })
  const files: LocalFile[] = []
  await mapConcurrently(PARALLEL, paths, async (path) => {
    const file = join(folder, path)
    const { size } = await stat(file)
    files.push({ path, file, size, sha256: await hashOf(file) })
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

/** Returns the SHA-256 of a file in hexadecimal. */
export async function hashOf(file: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(file, { highWaterMark: 256 * 1024 }))
    hash.update(chunk as Buffer)
  return hash.digest('hex')
}
