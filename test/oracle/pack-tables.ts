import { crc32 } from 'node:zlib'
import { encodeWtf8, StringTable } from '../../src/analyzer/bytecode/string-table.ts'
import { columnNames, type Layout } from '../../src/analyzer/bytecode/tables.ts'

const arrayOf = { i32: Int32Array, u16: Uint16Array, u8: Uint8Array } as const

const CHECKSUM_BYTES = 4

/** Packs tables into one buffer for `openTables`. Numbers are truncated to their column's type. */
export function packTables<L extends Layout>(
  layout: L,
  tables: { readonly [Name in keyof L]: { readonly [Column in keyof L[Name]]: ArrayLike<number> } },
  strings: Pick<StringTable, 'bytes' | 'offsets'>,
): ArrayBuffer {
  const [bytes, offsets, ...others] = columnNames(layout).map((entry, index) => {
    const [table = '', column = '', type = ''] = entry.split(/[.:]/)
    const given = table === 'strings' ? strings : tables[table]
    const values = (given as Readonly<Record<string, ArrayLike<number>>> | undefined)?.[column] ?? []
    return { index, type: type as keyof typeof arrayOf, values }
  })
  // Strings last, so that the other columns can be used without them.
  const columns = [...others, offsets, bytes].filter((column) => column !== undefined)
  const header = new Uint32Array(1 + 2 * columns.length)
  header[0] = columns.length
  let end = aligned(header.byteLength)
  for (const { index, type, values } of columns) {
    header.set([end, values.length], 1 + 2 * index)
    end = aligned(end + values.length * arrayOf[type].BYTES_PER_ELEMENT)
  }
  const buffer = new ArrayBuffer(end + CHECKSUM_BYTES)
  new Uint32Array(buffer, 0, header.length).set(header)
  for (const { index, type, values } of columns) {
    new arrayOf[type](buffer, header[1 + 2 * index], values.length).set(values)
  }
  new Uint32Array(buffer, end)[0] = crc32(new Uint8Array(buffer, 0, end))
  return buffer
}

function aligned(bytes: number): number {
  return Math.ceil(bytes / 8) * 8
}

/** Returns a table of these strings, in order. */
export function tableOf(strings: readonly string[]): StringTable {
  const encoded = strings.map(encodeWtf8)
  const offsets = new Int32Array(strings.length + 1)
  for (const [index, bytes] of encoded.entries()) offsets[index + 1] = (offsets[index] ?? 0) + bytes.length
  return new StringTable(Buffer.concat(encoded), offsets)
}
