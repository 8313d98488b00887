import { randomBytes } from 'node:crypto'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Readable } from 'node:stream'

interface WriteOptions {
  /** Less what the process's umask takes away. */
  readonly mode?: number
  /** The file whose mode the new one gets, bit by bit, and whose owner as far as that is allowed. */
  readonly like?: { readonly mode: number; readonly uid: number; readonly gid: number }
  /** Last thing before the old file is gone; what it throws leaves that in place. */
  readonly beforeRename?: () => Promise<void>
}

/**
 * Replaces a file so that after a crash or a power cut either the old or the new content is there, whole, and the new
 * one once this returns: temporary file, fsync, rename, fsync of the directory. A failed write leaves the old file.
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
  if (own.uid !== uid || own.gid !== gid) await file.chown(uid, gid).catch(() => undefined)
  // After the owner, whose change clears the bits that lend an identity.
  await file.chmod(mode & 0o7777)
}

/** Removes one file for good: after a power cut it does not come back. A missing file is no error. */
export async function removeFileDurable(path: string): Promise<void> {
  await rm(path, { force: true })
  await syncDirectory(dirname(path))
}

/** Makes what was created, renamed or removed in a directory outlast a power cut. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}
