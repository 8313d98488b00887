import {
  BLOCK_BYTES,
  checksumOf,
  FIELDS,
  numberOf,
  paddingOf,
  type SparseLayout,
  type TarEntry,
} from './entry.ts'
import { readSparseMap } from './sparse.ts'

/** Limit for a long name or a pax header, which are collected in memory. */
const MAX_EXTENSION_BYTES = 64 * 1024
/** The same for archives that are passed on, whose pax headers contain extended attributes. */
const MAX_PASSED_EXTENSION_BYTES = 2 ** 20
/** Linux's PATH_MAX. */
const MAX_PATH_BYTES = 4096
/** A sparse file in GNU tar's older format. */
const SPARSE = 'S'
const FILE_TYPES = new Set(['0', '\0', '7', SPARSE])
const LINK_TYPES: Readonly<Record<string, TarEntry['type']>> = { '1': 'hardlink', '2': 'link' }
/** Modification times up to the year 2242, GNU tar's own limit. */
const MAX_MTIME_S = 2 ** 33

/** Message of the error for an archive that lacks its end. */
export const EARLY_END = 'the archive ends early'

/** An entry and its content. The content that a reader leaves is skipped. */
export interface TarItem {
  readonly entry: TarEntry
  /** The entry's header blocks, with those of its extensions. */
  readonly head: readonly Buffer[]
  readonly content: AsyncIterable<Buffer>
}

/** Options for reading an archive. */
export interface ReadTarOptions {
  /**
   * For archives that GNU tar reads afterwards: keeps sparse files as they are stored, and refuses entries that it could
   * understand differently.
   */
  readonly isPassedOn?: boolean
  /** Accepts sparse files in GNU tar's older format, whose entries have a layout. */
  readonly acceptsSparse?: boolean
}

/** Properties that precede an entry and replace those in its header. */
interface Extension {
  path?: string
  linkPath?: string
  size?: number
  /** Name of a sparse file. */
  sparsePath?: string
}

/**
 * Reads an untrusted tar archive (ustar, GNU, pax) as a stream with bounded memory. Names are checked for their length only.
 * Written here, because the established reader collects headers of any size in memory.
 * @throws Error when the archive is damaged, ends early, or exceeds a limit
 */
export async function* readTar(
  source: AsyncIterable<Buffer>,
  { isPassedOn = false, acceptsSparse = false }: ReadTarOptions = {},
): AsyncGenerator<TarItem> {
  const bytes = new ByteSource(source)
  const maxBytes = isPassedOn ? MAX_PASSED_EXTENSION_BYTES : MAX_EXTENSION_BYTES
  let extension: Extension = {}
  let head: Buffer[] = []
  while (true) {
    const header = await bytes.take(BLOCK_BYTES)
    if (header.every((byte) => byte === 0)) break
    head.push(header)
    const type = typeOf(header)
    const size = numberOf(header, FIELDS.size, 'size')
    if (isExtension(type)) {
      if (size > maxBytes) throw new Error(`the archive has a header of ${size} bytes, more than ${maxBytes}`)
      if (isPassedOn && type === 'g') throw new Error('the archive has a header that applies to all entries')
      const content = await bytes.take(size)
      head.push(content, await bytes.take(paddingOf(size)))
      extension = { ...extension, ...extensionOf(type, content, isPassedOn) }
      continue
    }
    const { sparsePath, ...stored } = extension
    const layout =
      type === SPARSE && acceptsSparse
        ? await readSparseMap(header, extension.size ?? size, () => bytes.take(BLOCK_BYTES))
        : undefined
    const own = sparsePath === undefined ? stored : { ...stored, path: sparsePath }
    const entry = entryOf(header, type, own, layout)
    if (isPassedOn && entry.size !== (extension.size ?? size))
      throw new Error('the archive contains a link with content')
    extension = {}
    let left = entry.size
    yield {
      entry,
      head,
      content: (async function* () {
        while (left > 0) {
          const chunk = await bytes.next(left)
          left -= chunk.length
          yield chunk
        }
      })(),
    }
    head = []
    await bytes.skip(left)
    await bytes.skip(paddingOf(entry.size))
  }
  await bytes.drain()
}

function isExtension(type: string): boolean {
  return type === 'L' || type === 'K' || type === 'x' || type === 'g'
}

function typeOf(header: Buffer): string {
  const expected = numberOf(header, FIELDS.checksum, 'checksum')
  if (checksumOf(header) !== expected)
    throw new Error('the archive is damaged: a header has a wrong checksum')
  return String.fromCharCode(header[FIELDS.type[0]] ?? 0)
}

function entryOf(
  header: Buffer,
  type: string,
  extension: Extension,
  layout: SparseLayout | undefined,
): TarEntry {
  if (type === SPARSE && layout === undefined)
    throw new Error('the archive contains a sparse file, which only GNU tar can read')
  const path = checkPath(extension.path ?? nameOf(header))
  const linkType = LINK_TYPES[type]
  const isDirectory = type === '5' || (FILE_TYPES.has(type) && path.endsWith('/'))
  const isFile = FILE_TYPES.has(type) && !isDirectory
  const size = extension.size ?? numberOf(header, FIELDS.size, 'size')
  return {
    path,
    type: linkType ?? (isDirectory ? 'directory' : isFile ? 'file' : 'other'),
    mode: numberOf(header, FIELDS.mode, 'mode') & 0o7777,
    // Links have no content, although some archives repeat the size of the file.
    size: linkType === undefined ? size : 0,
    ...(layout !== undefined && { layout }),
    mtimeMs: mtimeOf(header),
    linkPath: linkType === undefined ? '' : checkPath(extension.linkPath ?? textOf(header, FIELDS.linkName)),
  }
}

function nameOf(header: Buffer): string {
  const name = textOf(header, FIELDS.name)
  // GNU's format uses the bytes of the prefix for other purposes.
  const isPosix = textOf(header, FIELDS.magic) === 'ustar'
  const prefix = isPosix ? textOf(header, FIELDS.prefix) : ''
  return prefix === '' ? name : `${prefix}/${name}`
}

function checkPath(path: string): string {
  if (path === '' || path.length > MAX_PATH_BYTES)
    throw new Error(`the archive contains a name of ${path.length} bytes; 1 to ${MAX_PATH_BYTES} are valid`)
  return path
}

function textOf(header: Buffer, [at, length]: readonly [number, number]): string {
  const text = header.toString('latin1', at, at + length)
  const end = text.indexOf('\0')
  return end === -1 ? text : text.slice(0, end)
}

/** Times before 1970 are negative numbers in base 256, whose first byte is 255. */
function mtimeOf(header: Buffer): number {
  if (header[FIELDS.mtime[0]] === 0xff) return 0
  return Math.min(numberOf(header, FIELDS.mtime, 'mtime'), MAX_MTIME_S) * 1000
}

function extensionOf(type: string, content: Buffer, keepsSparse: boolean): Extension {
  if (type === 'g') return {}
  if (type === 'x') return paxExtension(content, keepsSparse)
  const text = content.toString('latin1').replace(/\0[^]*$/, '')
  return type === 'L' ? { path: text } : { linkPath: text }
}

/** Parses pax records: `LENGTH KEY=VALUE\n`, where the length counts the whole record. */
function paxExtension(content: Buffer, keepsSparse: boolean): Extension {
  const extension: Extension = {}
  for (let at = 0; at < content.length;) {
    const [digits = ''] = /^[1-9]\d{0,5} /.exec(content.toString('latin1', at, at + 7)) ?? []
    const end = at + Number(digits)
    const record = content.toString('latin1', at + digits.length, end)
    const [, key = '', value = ''] = /^([^=]+)=([^]*)\n$/.exec(record) ?? []
    if (digits === '' || end > content.length || key === '')
      throw new Error('the archive is damaged: a pax header has an invalid record')
    if (key === 'path') extension.path = value.replace(/\0[^]*$/, '')
    else if (key === 'linkpath') extension.linkPath = value.replace(/\0[^]*$/, '')
    else if (key === 'size') extension.size = sizeOf(value)
    else if (key === 'GNU.sparse.name' && keepsSparse) extension.sparsePath = value.replace(/\0[^]*$/, '')
    else if (key.startsWith('GNU.sparse.') && !keepsSparse)
      throw new Error('the archive contains a sparse file, which only GNU tar can read')
    at = end
  }
  return extension
}

function sizeOf(text: string): number {
  if (/^\d{1,16}$/.test(text) && Number.isSafeInteger(Number(text))) return Number(text)
  throw new Error('the archive is damaged: a pax header has an invalid size')
}

/** Hands out the bytes of a stream in pieces. */
class ByteSource {
  readonly #iterator: AsyncIterator<Buffer>
  #rest: Buffer = Buffer.alloc(0)

  constructor(source: AsyncIterable<Buffer>) {
    this.#iterator = source[Symbol.asyncIterator]()
  }

  /** Returns at least one and at most `maxBytes` bytes. */
  async next(maxBytes: number): Promise<Buffer> {
    while (this.#rest.length === 0) {
      const { done, value } = await this.#iterator.next()
      if (done === true) throw new Error(EARLY_END)
      this.#rest = value
    }
    const part = this.#rest.subarray(0, maxBytes)
    this.#rest = this.#rest.subarray(part.length)
    return part
  }

  async take(count: number): Promise<Buffer> {
    const parts: Buffer[] = []
    for (let left = count; left > 0;) {
      const part = await this.next(left)
      parts.push(part)
      left -= part.length
    }
    return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)
  }

  async skip(count: number): Promise<void> {
    for (let left = count; left > 0;) left -= (await this.next(left)).length
  }

  /** Reads to the end of the stream, so that its writer can finish. */
  async drain(): Promise<void> {
    this.#rest = Buffer.alloc(0)
    while ((await this.#iterator.next()).done !== true);
  }
}
