import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { messageOf } from '../../lib/errors/message.ts'
import { fault } from '../errors.ts'
import { inParallel } from '../repo/repo-list.ts'
import { isKey } from '../store/store.ts'

/** A file that is to be published. */
export interface LocalFile {
  /** Below the folder, with slashes. */
  readonly path: string
  readonly file: string
  readonly size: number
  readonly sha256: string
}

const PARALLEL = 16

/** The files of a folder with their hashes, by path. Links are not followed, so that nothing outside gets published. */
export async function listFiles(
  folder: string,
): Promise<{ readonly files: readonly LocalFile[]; readonly skipped: readonly string[] }> {
  const skipped: string[] = []
  const files: LocalFile[] = []
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch((error: unknown) => {
    throw fault('PUBLISH_INVALID', `the folder ${folder} cannot be read: ${messageOf(error)}`, error)
  })
  await inParallel(PARALLEL, entries, async (entry) => {
    if (entry.isDirectory()) return
    const file = join(entry.parentPath, entry.name)
    const path = relative(folder, file).split(sep).join('/')
    if (!entry.isFile() || !isKey(path)) {
      skipped.push(path)
      return
    }
    const { size } = await stat(file)
    files.push({ path, file, size, sha256: await hashOf(file) })
  })
  return { files: files.toSorted((a, b) => (a.path < b.path ? -1 : 1)), skipped: skipped.toSorted() }
}

async function hashOf(file: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(file, { highWaterMark: 256 * 1024 }))
    hash.update(chunk as Buffer)
  return hash.digest('hex')
}
