import { lstat, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../../lib/errors/message.ts'
import { BOOT_FILES, type Manifest, parseManifest } from './manifest.ts'

/** An image's directory as it is found: whole as far as a look tells, absent, or damaged. */
export type BlobReading =
  | { readonly is: 'whole'; readonly manifest: Manifest }
  | { readonly is: 'absent' }
  | { readonly is: 'damaged'; readonly why: string }

export const MANIFEST_FILE = 'manifest.json'

/**
 * Looks at an image's directory without reading its large files: the manifest is right and is that of `digest`, and
 * every file is there, a regular file of the size it should have.
 */
export async function readBlob(directory: string, digest: string): Promise<BlobReading> {
  let manifest: Manifest
  try {
    const kind = await lstat(directory)
    if (!kind.isDirectory()) return { is: 'damaged', why: `${directory} is no directory` }
    manifest = parseManifest(await readFile(join(directory, MANIFEST_FILE), 'utf8'))
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' && syscall === 'lstat') return { is: 'absent' }
    return { is: 'damaged', why: `${join(directory, MANIFEST_FILE)} cannot be used: ${messageOf(error)}` }
  }
  if (manifest.digest !== digest)
    return { is: 'damaged', why: `${join(directory, MANIFEST_FILE)} is that of ${manifest.digest}` }
  for (const name of BOOT_FILES) {
    const path = join(directory, name)
    const found = await lstat(path).catch((error: unknown) => messageOf(error))
    if (typeof found === 'string') return { is: 'damaged', why: found }
    if (!found.isFile()) return { is: 'damaged', why: `${path} is no regular file` }
    const { bytes } = manifest.files[name]
    if (found.size !== bytes)
      return { is: 'damaged', why: `${path} has ${found.size} bytes and should have ${bytes}` }
  }
  return { is: 'whole', manifest }
}
