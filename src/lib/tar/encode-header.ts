import { BLOCK_BYTES, checksumOf, FIELDS, octal, paddingOf, type TarEntry, writeNumber } from './entry.ts'
import { writeSparseMap } from './sparse.ts'

const TYPES = { file: '0', hardlink: '1', link: '2', directory: '5' } as const
const SPARSE = 'S'
const LONG_NAME = 'L'
const LONG_LINK = 'K'

/** The end of an archive: two empty blocks. */
export const TAR_END = Buffer.alloc(2 * BLOCK_BYTES)

/** An entry that can be written. */
export type WritableEntry = TarEntry & { readonly type: keyof typeof TYPES }

/**
 * Encodes an entry's header blocks in GNU's format, whose long names and sizes GNU tar, bsdtar and busybox can read. Busybox
 * ignores those of the pax format.
 */
export function encodeTarHeader(entry: WritableEntry): Buffer {
  const { path, linkPath, layout } = entry
  return Buffer.concat([
    ...(path.length > FIELDS.name[1] ? longText(LONG_NAME, path) : []),
    ...(linkPath.length > FIELDS.linkName[1] ? longText(LONG_LINK, linkPath) : []),
    ...header(layout === undefined ? TYPES[entry.type] : SPARSE, entry),
  ])
}

/** Encodes a whole file that only its owner may read. */
export function encodeTarFile(path: string, content: Buffer, mtimeMs = 0): Buffer {
  const size = content.length
  const head = encodeTarHeader({ type: 'file', path, linkPath: '', mode: 0o600, size, mtimeMs })
  return Buffer.concat([head, content, Buffer.alloc(paddingOf(size))])
}

function longText(type: string, text: string): readonly Buffer[] {
  const content = Buffer.from(`${text}\0`, 'latin1')
  const fields = { path: '././@LongLink', linkPath: '', mode: 0o644, size: content.length, mtimeMs: 0 }
  return [...header(type, fields), content, Buffer.alloc(paddingOf(content.length))]
}

/** Returns a header, and the blocks that continue it. */
function header(type: string, entry: Omit<TarEntry, 'type'>): readonly Buffer[] {
  const block = Buffer.alloc(BLOCK_BYTES)
  const write = ([at, length]: readonly [number, number], text: string): void =>
    void block.write(text.slice(0, length), at, 'latin1')
  write(FIELDS.name, entry.path)
  write(FIELDS.mode, octal(entry.mode & 0o7777, 7))
  write(FIELDS.uid, octal(0, 7))
  write(FIELDS.gid, octal(0, 7))
  writeNumber(block, FIELDS.size, entry.size)
  writeNumber(block, FIELDS.mtime, Math.max(0, Math.floor(entry.mtimeMs / 1000)))
  write(FIELDS.type, type)
  write(FIELDS.linkName, entry.linkPath)
  write(FIELDS.magic, 'ustar  ')
  const more = entry.layout === undefined ? [] : writeSparseMap(block, entry.layout)
  write(FIELDS.checksum, `${octal(checksumOf(block), 6)}\0 `)
  return [block, ...more]
}
