import { columns, TARGET } from './columns.ts'
import { columnNames, openTables, type PackedTables } from './tables.ts'

/** What a slice of class files says; columns.ts describes each table. */
export type Facts = PackedTables<typeof columns>

/** Why a class file gave no facts. */
export interface ClassFault {
  /** Which class file of the slice, from 0. */
  readonly input: number
  /** In bytes from the start of the class file. */
  readonly offset: number
  readonly message: string
}

/** The columns in packed order, "strings.bytes:u8 strings.offsets:i32 classes.input:i32 …". */
export const factsLayout: string = columnNames(columns).join(' ')

/** The facts in a buffer that a reader of this layout has packed. @throws as `openTables` */
export function openFacts(buffer: ArrayBuffer): Facts {
  return openTables(columns, buffer)
}

/** The rows that belong to a row, from a column `first…`. */
export function rows(first: Int32Array, row: number): readonly number[] {
  const start = first[row] ?? 0
  return Array.from({ length: (first[row + 1] ?? start) - start }, (_, i) => start + i)
}

/** Whether an annotation is in the source on its own: on a declaration or a type, and not a value inside another one. */
export function isOnSource({ annotations }: Facts, row: number): boolean {
  const kind = annotations.targetKind[row] ?? 0
  return kind < TARGET.ANNOTATION_DEFAULT || (kind >= TARGET.CLASS_TYPE && kind < TARGET.REPEATED_ON_TYPE)
}
