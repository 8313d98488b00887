import { randomBytes } from 'node:crypto'
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Replaces a file so that after a crash or a power cut either the old or the new content is there, whole, and the new
 * one once this returns: temporary file, fsync, rename, fsync of the directory. A failed write leaves the old file.
 */
export async function writeFileDurable(
  path: string,
  content: string | Uint8Array,
  options: { readonly mode?: number } = {},
): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`
  try {
    const file = await open(temporary, 'wx', options.mode ?? 0o644)
    try {
      await file.writeFile(content)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
  await syncDirectory(dirname(path))
}

/** Removes one file for good: after a power cut it does not come back. A missing file is no error. */
export async function removeFileDurable(path: string): Promise<void> {
  await rm(path, { force: true })
  await syncDirectory(dirname(path))
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}
