import { lstat, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../../lib/errors/message.ts'
import { BOOT_FILES, type Manifest, parseManifest } from './manifest.ts'

/** Result of checking an image's directory: whole, as far as a quick check shows; absent; or damaged. */
export type BlobReading =
  | { readonly is: 'whole'; readonly manifest: Manifest }
  | { readonly is: 'absent' }
  | { readonly is: 'damaged'; readonly why: string }

/** Name of the manifest file. */
export const MANIFEST_FILE = 'manifest.json'

/**
 * Checks an image's directory without reading its large files: the manifest is valid and has this digest, and
 * every file is a regular file of the expected size.
 */
export async function readBlob(directory: string, digest: string): Promise<BlobReading> {
  let manifest: Manifest
  try {
    const kind = await lstat(directory)
    if (!kind.isDirectory()) return { is: 'damaged', why: `${directory} is not a directory` }
    manifest = parseManifest(await readFile(join(directory, MANIFEST_FILE), 'utf8'))
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' && syscall === 'lstat') return { is: 'absent' }
    return { is: 'damaged', why: `${join(directory, MANIFEST_FILE)} is unreadable: ${messageOf(error)}` }
  }
  if (manifest.digest !== digest)
    return { is: 'damaged', why: `${join(directory, MANIFEST_FILE)} has digest ${manifest.digest}` }
  for (const name of BOOT_FILES) {
    const path = join(directory, name)
    const found = await lstat(path).catch((error: unknown) => messageOf(error))
    if (typeof found === 'string') return { is: 'damaged', why: found }
    if (!found.isFile()) return { is: 'damaged', why: `${path} is not a regular file` }
    const { bytes } = manifest.files[name]
    if (found.size !== bytes)
      return { is: 'damaged', why: `${path} has ${found.size} bytes, expected ${bytes}` }
  }
  return { is: 'whole', manifest }
}
