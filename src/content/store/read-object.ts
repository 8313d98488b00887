import type { OpenedObject, OpenOptions, ReadableStore } from './store.ts'

/** All bytes of an object, with its ETag. */
interface ReadObject {
  readonly bytes: Buffer
  readonly etag: string
}

/**
 * Reads an object of at most some number of bytes; a larger one is `too_large`.
 *
 * @throws STORE_UNAVAILABLE when the store fails
 */
export async function readObject(
  store: ReadableStore,
  key: string,
  maxBytes: number,
  options?: OpenOptions,
): Promise<ReadObject | 'missing' | 'unchanged' | 'changed' | 'too_large'> {
  const opened = await store.open(key, options)
  if (typeof opened === 'string') return opened
  if (opened.size <= maxBytes) return { bytes: await readAll(opened), etag: opened.etag }
  discard(opened)
  return 'too_large'
}

/** Reads all bytes of an object. */
export async function readAll({ body, size }: OpenedObject): Promise<Buffer> {
  const bytes = Buffer.allocUnsafeSlow(size)
  let filled = 0
  for await (const chunk of body) {
    filled += (chunk as Buffer).copy(bytes, filled)
  }
  // The file may have been truncated meanwhile.
  return filled === size ? bytes : bytes.subarray(0, filled)
}

/** Reads the first bytes of an object, and closes it. */
export async function readHead({ body }: OpenedObject, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  // Leaving the loop destroys the stream.
  for await (const chunk of body) {
    chunks.push(chunk as Buffer)
    size += (chunk as Buffer).length
    if (size >= maxBytes) break
  }
  return Buffer.from(Buffer.concat(chunks).subarray(0, maxBytes))
}

/** Closes an object that is not read. */
export function discard({ body }: OpenedObject): void {
  body.on('error', () => undefined).destroy()
}
