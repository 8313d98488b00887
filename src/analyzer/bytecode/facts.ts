import { columns, type ColumnType } from './columns.ts'
import { StringTable } from './string-table.ts'

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

type Tables = { readonly [Name in keyof typeof columns]: Table<(typeof columns)[Name]> }

/** What a slice of class files says; columns.ts describes each table. All arrays are views on `buffer`. */
export interface Facts extends Tables {
  /** Everything: this is what is sent between threads and processes, and `openFacts` reads it again. */
  readonly buffer: ArrayBuffer
  readonly strings: StringTable
}

/** Why a class file gave no facts. */
export interface ClassFault {
  /** Which class file of the slice, from 0. */
  readonly input: number
  /** In bytes from the start of the class file. */
  readonly offset: number
  readonly message: string
}

/** The columns in packed order, "strings.bytes:u8 strings.offsets:i32 classes.input:i32 …". */
export const factsLayout: string = [
  'strings.bytes:u8',
  'strings.offsets:i32',
  ...Object.entries(columns).flatMap(([table, each]) =>
    Object.entries(each).map(([column, type]) => `${table}.${column}:${type}`),
  ),
].join(' ')

const arrayOf = { i32: Int32Array, u16: Uint16Array, u8: Uint8Array } as const

/**
 * The facts in a buffer that a reader of this layout has packed: a word with the number of columns, for each column its
 * byte offset and its length in elements, then the columns. Words have this machine's byte order.
 *
 * @throws Error when the buffer has another number of columns
 */
export function openFacts(buffer: ArrayBuffer): Facts {
  const layout = factsLayout.split(' ')
  const header = new Uint32Array(buffer, 0, 1 + 2 * layout.length)
  if (header[0] !== layout.length)
    throw new Error(`expected facts of ${layout.length} columns, there are ${header[0]}`)
  const tables: Record<string, Record<string, unknown>> = {}
  for (const [index, entry] of layout.entries()) {
    const [table = '', column = '', type = ''] = entry.split(/[.:]/)
    const length = header[2 + 2 * index] ?? 0
    const array = new arrayOf[type as ColumnType](buffer, header[1 + 2 * index], length)
    const own = (tables[table] ??= {})
    own[column] = array
    if (!column.startsWith('first')) own['count'] = length
  }
  const { strings, ...rest } = tables
  const { bytes, offsets } = strings as { bytes: Uint8Array; offsets: Int32Array }
  return { ...rest, buffer, strings: new StringTable(bytes, offsets) } as unknown as Facts
}
