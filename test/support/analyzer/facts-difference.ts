import { columns, CONSTANT } from '../../../src/analyzer/bytecode/columns.ts'
import type { Facts } from '../../../src/analyzer/bytecode/facts.ts'

/** Columns of 32 bits that hold numbers or rows, not strings. */
const numbers =
  /\.(?:first\w+|lastLine|line|input|target|parameter|parameterCount|elementStart|elementCount|constant|constantHigh|value|high)$/
const textTags = new Set(['s', 'e', 'c'].map((tag) => tag.charCodeAt(0)))

type Rows = Readonly<Record<string, ArrayLike<number>>>

/**
 * Returns the first row of each column in which two facts of the same class files differ; string ids are
 * compared by text.
 */
export function factsDifference(one: Facts, other: Facts): readonly string[] {
  return Object.entries(columns).flatMap(([table, each]) =>
    Object.keys(each).flatMap((column) => {
      const rows = (facts: Facts) => facts[table as keyof typeof columns] as unknown as Rows
      const a = rows(one)[column] ?? []
      const b = rows(other)[column] ?? []
      if (a.length !== b.length) return [`${table}.${column}: ${a.length} and ${b.length} rows`]
      for (let row = 0; row < a.length; row++) {
        const isText = holdsText(table, column, rows(one), row)
        const first = isText ? textOf(one, a[row]) : a[row]
        const second = isText ? textOf(other, b[row]) : b[row]
        if (first !== second) return [`${table}.${column}[${row}]: ${first} and ${second}`]
      }
      return []
    }),
  )
}

function holdsText(table: string, column: string, rows: Rows, row: number): boolean {
  const full = `${table}.${column}`
  if (full === 'arguments.value') return (rows['kind']?.[row] ?? 0) >= CONSTANT.STRING
  if (full === 'fields.constant') return (rows['constantKind']?.[row] ?? 0) === CONSTANT.STRING
  if (full === 'elements.value') return textTags.has(rows['tag']?.[row] ?? 0)
  if (full === 'elements.high') return rows['tag']?.[row] === 'e'.charCodeAt(0)
  if (full === 'moduleDirectives.target') return true
  const type = (columns as Readonly<Record<string, Readonly<Record<string, string>>>>)[table]?.[column]
  return type === 'i32' && !numbers.test(full)
}

function textOf(facts: Facts, id: number | undefined): string | undefined {
  return id === undefined || id < 0 ? undefined : facts.strings.get(id)
}
