import type { Readable } from 'node:stream'

/** Metadata of an object. */
export interface ObjectInfo {
  readonly key: string
  readonly size: number
  /** With its quotes, as in the header; changes whenever the bytes do. */
  readonly etag: string
  readonly lastModifiedMs: number
  /** As it was said at the writing; undefined where the store keeps no such thing. */
  readonly contentType: string | undefined
  readonly contentEncoding: string | undefined
}

export interface OpenedObject extends ObjectInfo {
  /** The bytes, or those of the range that was asked for. Fails with STORE_UNAVAILABLE; is to be read or destroyed. */
  readonly body: Readable
}

export interface ByteRange {
  readonly first: number
  /** The last byte that belongs to it. */
  readonly last: number
}

export interface OpenOptions {
  /** Answers `unchanged` when the object still has this ETag. */
  readonly ifNoneMatch?: string | undefined
  /** Answers `changed` when it has not. */
  readonly ifMatch?: string | undefined
  /** Must lie inside the object. */
  readonly range?: ByteRange | undefined
}

export interface WriteOptions {
  readonly contentType: string
  readonly contentEncoding?: string | undefined
}

/** Bytes in memory, or a file whose bytes are read as they go. */
export type Content = Uint8Array | { readonly file: string; readonly size: number }

/**
 * A store of objects. Keys are those that `isKey` accepts. Any failure other than `missing` is thrown as
 * STORE_UNAVAILABLE, so that it never looks like a missing object.
 */
export interface Store {
  open(key: string, options?: OpenOptions): Promise<OpenedObject | 'missing' | 'unchanged' | 'changed'>
  /** The names directly below a prefix below which there are objects; `prefix` ends with a slash, they do not. */
  listNames(prefix: string): Promise<readonly string[]>
  /** All objects whose keys begin with a prefix that ends with a slash. */
  list(prefix: string): AsyncIterable<{ readonly key: string; readonly size: number }>
  /** Replaces an object whole: who reads meanwhile gets the old one or the new one. */
  write(key: string, content: Content, options: WriteOptions): Promise<void>
  /** A missing object is no error. */
  remove(key: string): Promise<void>
  close(): void
}

const MAX_KEY_BYTES = 1024
// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const FORBIDDEN = /[\u0000-\u001f\u007f\\]/
/** None at all, `.` or `..`. */
const UNFIT_SEGMENT = /(?:^|\/)(?:\.|%2e){0,2}(?:\/|$)/i

/**
 * Whether a text may be a key: segments with one slash between them, none of which a file system or a proxy would take for
 * another place (threat O4). Whoever decoded once more than we would still find no `..`.
 */
export function isKey(key: string): boolean {
  return (
    key.length <= MAX_KEY_BYTES &&
    !FORBIDDEN.test(key) &&
    !UNFIT_SEGMENT.test(key) &&
    key.isWellFormed() &&
    Buffer.byteLength(key) <= MAX_KEY_BYTES
  )
}
