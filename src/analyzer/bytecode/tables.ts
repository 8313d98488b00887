import { encodeWtf8, StringTable } from './string-table.ts'

/** How the elements of a column are stored: signed 32 bits, unsigned 16, unsigned 8. */
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
  /** How many rows there are. */
  readonly count: number
}

/** Tables that are views on one buffer, and the strings that their ids stand for. */
export type PackedTables<L extends Layout> = { readonly [Name in keyof L]: Table<L[Name]> } & {
  /** Everything: this is what is sent between threads and processes and stored, and `openTables` reads it again. */
  readonly buffer: ArrayBuffer
  readonly strings: StringTable
}

const arrayOf = { i32: Int32Array, u16: Uint16Array, u8: Uint8Array } as const

/** The columns of a layout in packed order, "strings.bytes:u8 strings.offsets:i32 …". */
export function columnNames(layout: Layout): readonly string[] {
  return [
    'strings.bytes:u8',
    'strings.offsets:i32',
    ...Object.entries(layout).flatMap(([table, columns]) =>
      Object.entries(columns).map(([column, type]) => `${table}.${column}:${type}`),
    ),
  ]
}

/**
 * The tables in a buffer: a word with the number of columns, for each column its byte offset and its length in elements,
 * then the columns, each at a multiple of 8. Words have this machine's byte order.
 *
 * @throws Error when the buffer has another number of columns
 */
export function openTables<L extends Layout>(layout: L, buffer: ArrayBuffer): PackedTables<L> {
  const columns = columnNames(layout)
  const header = new Uint32Array(buffer, 0, 1 + 2 * columns.length)
  if (header[0] !== columns.length)
    throw new Error(`expected tables of ${columns.length} columns, there are ${header[0]}`)
  const tables: Record<string, Record<string, unknown>> = {}
  for (const [index, entry] of columns.entries()) {
    const [table = '', column = '', type = ''] = entry.split(/[.:]/)
    const length = header[2 + 2 * index] ?? 0
    const array = new arrayOf[type as ColumnType](buffer, header[1 + 2 * index], length)
    const own = (tables[table] ??= {})
    own[column] = array
    if (!column.startsWith('first')) own['count'] = length
  }
  const { strings, ...rest } = tables
  const { bytes, offsets } = strings as { bytes: Uint8Array; offsets: Int32Array }
  return { ...rest, buffer, strings: new StringTable(bytes, offsets) } as unknown as PackedTables<L>
}

/** Writes tables into one buffer, in the form that `openTables` reads. Numbers are cut to their column's type. */
export function packTables<L extends Layout>(
  layout: L,
  tables: { readonly [Name in keyof L]: { readonly [Column in keyof L[Name]]: ArrayLike<number> } },
  strings: readonly string[],
): ArrayBuffer {
  const encoded = strings.map(encodeWtf8)
  const offsets = new Int32Array(strings.length + 1)
  for (const [index, bytes] of encoded.entries()) offsets[index + 1] = (offsets[index] ?? 0) + bytes.length
  const columns: readonly { readonly type: ColumnType; readonly values: ArrayLike<number> }[] = [
    { type: 'u8', values: Buffer.concat(encoded) },
    { type: 'i32', values: offsets },
    ...Object.entries(layout).flatMap(([table, types]) =>
      Object.entries(types).map(([column, type]) => ({ type, values: tables[table]?.[column] ?? [] })),
    ),
  ]
  const places: number[] = []
  let end = aligned((1 + 2 * columns.length) * 4)
  for (const { type, values } of columns) {
    places.push(end)
    end = aligned(end + values.length * arrayOf[type].BYTES_PER_ELEMENT)
  }
  const buffer = new ArrayBuffer(end)
  const header = new Uint32Array(buffer, 0, 1 + 2 * columns.length)
  header[0] = columns.length
  for (const [index, { type, values }] of columns.entries()) {
    header[1 + 2 * index] = places[index] ?? 0
    header[2 + 2 * index] = values.length
    new arrayOf[type](buffer, places[index], values.length).set(values)
  }
  return buffer
}

function aligned(bytes: number): number {
  return Math.ceil(bytes / 8) * 8
}
