import { type Extent, openNestedArchive } from '../../native/classfile.ts'
import type { ByteSource } from './byte-source.ts'
import { readExtent } from './read-extent.ts'

/** Limit of all nested archives that are inflated at the same time; the same as the addon's. */
const MAX_NESTED_BYTES = 2 ** 28
/**
 * Class files deflate to a half or a third of their size. An archive that inflates to more than this and to
 * so many times its size is treated as an attack.
 */
const MANY_BYTES = 2 ** 24
const MAX_RATIO = 100

/**
 * Calls `use` with a nested archive, which the addon inflates once for all threads of this process. Threads
 * wait if they would need too much memory together, so `use` must not open another.
 *
 * @throws Error when it cannot be inflated or is too large
 */
export function withNestedArchive<Result>(
  path: string,
  extent: Extent,
  use: (archive: ByteSource) => Result,
): Result {
  const opened = openNestedArchive(path, extent)
  try {
    return use({
      bytes: extent.bytes,
      read: (offset, count) => {
        if (offset < 0 || count < 0 || offset + count > extent.bytes)
          throw new RangeError(`bytes ${offset} to ${offset + count} are not within 0 to ${extent.bytes}`)
        return opened.read(offset, count)
      },
    })
  } finally {
    opened.close()
  }
}

/** Inflates a nested archive into JavaScript memory. @throws as `withNestedArchive` */
export function inflateNested(source: ByteSource, extent: Extent): Buffer {
  if (extent.bytes > MANY_BYTES && extent.bytes > MAX_RATIO * extent.storedBytes)
    throw new Error(`it would inflate to more than ${MAX_RATIO} times its size`)
  return readExtent(source, extent, MAX_NESTED_BYTES)
}
