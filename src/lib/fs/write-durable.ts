import { randomBytes } from 'node:crypto'
import { type FileHandle, open, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { ignore } from '../errors/ignore.ts'
import { ignoreMissing } from './ignore-missing.ts'

/** Suffix of the temporary files. */
const TEMPORARY = /\.[0-9a-f]{12}\.tmp$/

interface WriteOptions {
  /** Subject to the process's umask. */
  readonly mode?: number
  /** File whose exact mode, and owner if permitted, the new file gets. */
  readonly like?: { readonly mode: number; readonly uid: number; readonly gid: number }
  /** Called right before the old file is replaced; an exception keeps the old file. */
  readonly beforeRename?: () => Promise<void>
}

/**
 * Replaces a file so that after a crash or power cut it has either the complete old or the complete new content, and the new
 * content once this returns: temporary file, fsync, rename, fsync of the directory. A failed write keeps the old file.
 */
export async function writeFileDurable(
  path: string,
  content: string | Uint8Array | Readable,
  options: WriteOptions = {},
): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`
  try {
    const file = await open(temporary, 'wx', options.mode ?? 0o644)
    try {
      await file.writeFile(content)
      if (options.like !== undefined) await makeLike(file, options.like)
      await file.sync()
    } finally {
      await file.close()
    }
    await options.beforeRename?.()
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
  await syncDirectory(dirname(path))
}

async function makeLike(
  file: FileHandle,
  { mode, uid, gid }: NonNullable<WriteOptions['like']>,
): Promise<void> {
  const own = await file.stat()
  if (own.uid !== uid || own.gid !== gid)
    await file.chown(uid, gid).catch(ignore('only root may set the owner'))
  // After chown, which clears setuid and setgid.
  await file.chmod(mode & 0o7777)
}

/** Removes the temporary files that a killed process left in a directory, where no other process writes. */
export async function removeInterruptedWrites(directory: string): Promise<void> {
  const names = (await readdir(directory).catch(ignoreMissing)) ?? []
  const left = names.filter((name) => TEMPORARY.test(name))
  await Promise.all(left.map((name) => rm(join(directory, name), { force: true })))
}

/** Deletes a file durably: it does not reappear after a power cut. A missing file is not an error. */
export async function removeFileDurable(path: string): Promise<void> {
  await rm(path, { force: true })
  await syncDirectory(dirname(path))
}

/** Flushes a file to disk. */
export async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Flushes a directory, so that created, renamed and removed entries survive a power cut. */
export async function syncDirectory(path: string): Promise<void> {
  await syncFile(path)
}
