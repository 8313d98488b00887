import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { fault } from '../errors.ts'
import { brotli } from '../../lib/compress/brotli.ts'
import { mediaTypeOf, isText } from '../page/content-type.ts'
import { contentKey, CONTENTS, isContentKey } from '../publication/content-key.ts'
import { KeySet } from '../publication/key-set.ts'
import { mapConcurrently } from '../repo/repo-list.ts'
import type { Store } from '../store/store.ts'
import { type LocalFile, locationOf, stampOf } from './list-folder.ts'

/** Each can hold a content in memory, with its compressed forms. */
const PARALLEL = 16
const compressGzip = promisify(gzip)
/** Larger text is neither compressed nor searched. */
export const MAX_TEXT_BYTES = 16 * 2 ** 20
const MIN_COMPRESSED_BYTES = 1_024
/** Takes half the time of the best quality, for 1 % more bytes. */
const BROTLI_QUALITY = 9

/** Whether a file is also sent compressed. */
export function isSentCompressed({ path, size }: LocalFile): boolean {
  return isText(mediaTypeOf(path)) && size >= MIN_COMPRESSED_BYTES && size <= MAX_TEXT_BYTES
}

/** Returns the keys of all contents in a folder of the store, relative to it. */
export async function listContents(store: Store, target: string): Promise<KeySet> {
  const keys = new KeySet()
  for await (const { key } of store.list(target + CONTENTS)) {
    const below = key.slice(target.length)
    if (isContentKey(below)) keys.add(below)
  }
  return keys
}

/** Returns the files whose contents the store does not have, one for each content. */
export function missingContents(files: readonly LocalFile[], there: KeySet): readonly LocalFile[] {
  const missing = new Map<string, LocalFile>()
  for (const file of files) {
    const isCompressed = isSentCompressed(file)
    if (there.hasContent(file.sha256, isCompressed)) continue
    if (isCompressed || !missing.has(file.sha256)) missing.set(file.sha256, file)
  }
  return [...missing.values()]
}

/** Sends the contents of files. @param onSent receives the number of files that have been sent */
export async function sendContents(
  store: Store,
  target: string,
  files: readonly LocalFile[],
  onSent: (done: number) => void,
): Promise<void> {
  let done = 0
  await mapConcurrently(PARALLEL, files, async (file) => {
    await sendContent(store, target, file)
    onSent(++done)
  })
}

/** Sends exactly the bytes that were hashed: under its hash, another content would be served for ever. */
async function sendContent(store: Store, target: string, file: LocalFile): Promise<void> {
  const location = locationOf(file)
  const key = target + contentKey(file.sha256)
  const options = { contentType: mediaTypeOf(file.path) }
  if (file.size > MAX_TEXT_BYTES) {
    await store.write(key, { file: location, size: file.size }, options)
    if ((await stampOf(location)).stamp === file.stamp) return
    await store.remove(key)
    throw changed(file)
  }
  const bytes = await readFile(location)
  if (createHash('sha256').update(bytes).digest('hex') !== file.sha256) throw changed(file)
  await store.write(key, bytes, options)
  if (!isSentCompressed(file)) return
  // Written after the content: servers use a compressed form only if it is not older.
  const [brotlied, gzipped] = await Promise.all([
    brotli(bytes, BROTLI_QUALITY),
    compressGzip(bytes, { level: 9 }),
  ])
  await store.write(`${key}.br`, brotlied, { contentType: 'application/octet-stream' })
  await store.write(`${key}.gz`, gzipped, { contentType: 'application/gzip' })
}

function changed(file: LocalFile): Error {
  return fault('PUBLISH_INVALID', `${locationOf(file)} changed while it was being published; publish again`)
}
