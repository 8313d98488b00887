import { columns, TARGET } from './columns.ts'
import { columnNames, openTables, type PackedTables } from './tables.ts'

/** Facts of a slice of class files; columns.ts describes each table. */
export type Facts = PackedTables<typeof columns>

/** Reason why a class file has no facts. */
export interface ClassDiagnostic {
  /** Index of the class file in the slice, from 0. */
  readonly input: number
  /** Byte offset in the class file. */
  readonly offset: number
  readonly message: string
}

/** All columns in packed order, "strings.bytes:u8 strings.offsets:i32 classes.input:i32 …". */
export const factsLayout: string = columnNames(columns).join(' ')

/** Opens facts from a buffer that a reader of this layout packed. @throws as `openTables` */
export function openFacts(buffer: ArrayBuffer): Facts {
  return openTables(columns, buffer)
}

/** Returns the rows that belong to a row, from a column `first…`. */
export function rows(first: Int32Array, row: number): readonly number[] {
  const start = first[row] ?? 0
  return Array.from({ length: (first[row + 1] ?? start) - start }, (_, i) => start + i)
}

/** Whether an annotation is on a declaration or a type, not a value inside another annotation. */
export function isOnSource({ annotations }: Facts, row: number): boolean {
  const kind = annotations.targetKind[row] ?? 0
  return kind < TARGET.ANNOTATION_DEFAULT || (kind >= TARGET.CLASS_TYPE && kind < TARGET.REPEATED_ON_TYPE)
}
