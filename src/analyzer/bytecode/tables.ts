import { crc32 } from 'node:zlib'
import { StringTable } from './string-table.ts'

/** Element type of a column: signed 32 bits, unsigned 16, unsigned 8. */
type ColumnType = 'i32' | 'u16' | 'u8'

/** Tables with their columns, in packed order. Row i of a table is element i of each of its columns. */
export type Layout = Readonly<Record<string, Readonly<Record<string, ColumnType>>>>

interface Arrays {
  readonly i32: Int32Array
  readonly u16: Uint16Array
  readonly u8: Uint8Array
}

type Table<Columns extends Readonly<Record<string, ColumnType>>> = {
  readonly [Name in keyof Columns]: Arrays[Columns[Name]]
} & {
  /** Number of rows. */
  readonly count: number
}

/** The tables of a layout. */
export type Tables<L extends Layout> = { readonly [Name in keyof L]: Table<L[Name]> }

/** Tables that are views of one buffer, and the strings that their ids refer to. */
export type PackedTables<L extends Layout> = Tables<L> & {
  /** The whole packed data: sent between threads and processes, stored, and read by `openTables`. */
  readonly buffer: ArrayBuffer
  readonly strings: StringTable
}

const arrayOf = { i32: Int32Array, u16: Uint16Array, u8: Uint8Array } as const

const CHECKSUM_BYTES = 4

/** Returns the columns of a layout in packed order, "strings.bytes:u8 strings.offsets:i32 …". */
export function columnNames(layout: Layout): readonly string[] {
  return [
    ...STRING_COLUMNS,
    ...Object.entries(layout).flatMap(([table, columns]) =>
      Object.entries(columns).map(([column, type]) => `${table}.${column}:${type}`),
    ),
  ]
}

const STRING_COLUMNS = ['strings.bytes:u8', 'strings.offsets:i32']

interface StringColumns {
  readonly bytes: Uint8Array
  readonly offsets: Int32Array
}

/**
 * Opens the tables in a buffer: a word with the number of columns, for each column its byte offset and its
 * length in elements, then the columns, each at a multiple of 8, and a CRC-32 of all that (see `isWhole`).
 * Words have this machine's byte order.
 *
 * @throws Error when the buffer has another number of columns
 */
export function openTables<L extends Layout>(layout: L, buffer: ArrayBuffer): PackedTables<L> {
  const { strings, tables } = open(layout, buffer, buffer)
  return { ...tables, buffer, strings: new StringTable(strings.bytes, strings.offsets) }
}

/** Copies the tables in a buffer, without their strings, to separate memory. @throws as `openTables` */
export function copyTables<L extends Layout>(layout: L, buffer: ArrayBuffer): Tables<L> {
  const { bytes, offsets } = open(layout, buffer, buffer).strings
  const withoutStrings = buffer.slice(0, Math.min(bytes.byteOffset, offsets.byteOffset))
  return open(layout, buffer, withoutStrings).tables
}

/**
 * Opens tables whose strings are views of `buffer` and whose other columns are views of `own`, which has the
 * same layout.
 */
function open<L extends Layout>(layout: L, buffer: ArrayBuffer, own: ArrayBuffer) {
  const columns = columnNames(layout)
  const header = new Uint32Array(buffer, 0, 1 + 2 * columns.length)
  if (header[0] !== columns.length)
    throw new Error(`expected tables of ${columns.length} columns, got ${header[0]}`)
  const all: Record<string, Record<string, unknown>> = {}
  for (const [index, entry] of columns.entries()) {
    const [table = '', column = '', type = ''] = entry.split(/[.:]/)
    const length = header[2 + 2 * index] ?? 0
    const memory = table === 'strings' ? buffer : own
    const array = new arrayOf[type as ColumnType](memory, header[1 + 2 * index], length)
    const columnsOfTable = (all[table] ??= {})
    columnsOfTable[column] = array
    if (!column.startsWith('first')) columnsOfTable['count'] = length
  }
  const { strings, ...tables } = all
  return { strings: strings as unknown as StringColumns, tables: tables as unknown as Tables<L> }
}

/** Whether bytes are intact packed tables, of any layout. */
export function isWhole(bytes: Buffer): boolean {
  const end = bytes.length - CHECKSUM_BYTES
  return end >= 0 && crc32(bytes.subarray(0, end)) === bytes.readUInt32LE(end)
}
