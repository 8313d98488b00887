import type { Readable } from 'node:stream'

/** Metadata of an object. */
export interface ObjectInfo {
  readonly key: string
  readonly size: number
  /** With quotes, as in the header; changes with the bytes. */
  readonly etag: string
  readonly lastModifiedMs: number
  /** As given when it was written; undefined if the store does not keep it. */
  readonly contentType: string | undefined
  readonly contentEncoding: string | undefined
}

/** An object that is being read. */
export interface OpenedObject extends ObjectInfo {
  /** The bytes, or the requested range. Fails with STORE_UNAVAILABLE; must be read or destroyed. */
  readonly body: Readable
}

/** A range of bytes in an object. */
export interface ByteRange {
  readonly first: number
  /** Offset of the last byte, inclusive. */
  readonly last: number
}

/** Conditions and range of a read. */
export interface OpenOptions {
  /** Returns `unchanged` if the object still has this ETag. */
  readonly ifNoneMatch?: string | undefined
  /** Returns `changed` if the object has another ETag. */
  readonly ifMatch?: string | undefined
  /** Must be within the object. */
  readonly range?: ByteRange | undefined
}

/** Metadata of a write. */
export interface WriteOptions {
  readonly contentType: string
  readonly contentEncoding?: string | undefined
}

/** Bytes in memory, or a file that is streamed. */
export type Content = Uint8Array | { readonly file: string; readonly size: number }

/**
 * A store of objects. Keys are those that `isKey` accepts. Any failure other than `missing` is thrown as
 * STORE_UNAVAILABLE, so that it never looks like a missing object.
 */
export interface Store {
  /** Absolute path of the folder that contains the objects, if they are files on this host. */
  readonly folder?: string
  open(key: string, options?: OpenOptions): Promise<OpenedObject | 'missing' | 'unchanged' | 'changed'>
  /** Returns the names directly below a prefix that contain objects; `prefix` ends with a slash, the names do not. */
  listNames(prefix: string): Promise<readonly string[]>
  /** Lists all objects whose keys start with a prefix that ends with a slash. */
  list(prefix: string): AsyncIterable<{ readonly key: string }>
  /** Replaces an object atomically: concurrent readers get the old or the new one. */
  write(key: string, content: Content, options: WriteOptions): Promise<void>
  /**
   * Replaces an object as `write` does, but only if it still has an ETag, or is still missing if that is undefined.
   * Of several processes that do so at the same time, one succeeds. Shared objects are written by `changeObject`.
   *
   * @throws CONDITIONS_UNSUPPORTED when the store cannot
   */
  replace(
    key: string,
    bytes: Uint8Array,
    etag: string | undefined,
    options: WriteOptions,
  ): Promise<'written' | 'changed'>
  /** Removes an object; a missing one is ignored. */
  remove(key: string): Promise<void>
  /**
   * Removes what interrupted writes to some keys have left, which is never listed or opened.
   *
   * @param prefix ends with a slash
   * @param isOurs whether the caller writes to a key
   * @param beforeMs time in milliseconds since the epoch; anything that changed later may belong to a running write
   */
  removeUnfinished(prefix: string, isOurs: (key: string) => boolean, beforeMs: number): Promise<void>
  close(): void
}

/** A store that is only read, by key. */
export type ReadableStore = Pick<Store, 'open'>

const MAX_KEY_BYTES = 1024
// oxlint-disable-next-line no-control-regex -- the expression is about control characters
const FORBIDDEN = /[\u0000-\u001f\u007f\\]/
/** An empty segment, `.` or `..`. */
const INVALID_SEGMENT = /(?:^|\/)(?:\.|%2e){0,2}(?:\/|$)/i

/**
 * Whether a text is a valid key: segments separated by single slashes, none of which a file system or proxy would
 * resolve to another location (threat O4). Decoding it again still yields no `..`.
 */
export function isKey(key: string): boolean {
  return (
    key.length <= MAX_KEY_BYTES &&
    !FORBIDDEN.test(key) &&
    !INVALID_SEGMENT.test(key) &&
    key.isWellFormed() &&
    Buffer.byteLength(key) <= MAX_KEY_BYTES
  )
}
