import type { Source } from '../classpath/source.ts'
import { copyDigest, type Digest, type DigestTables } from './digest.ts'
import type { StringPool } from './string-pool.ts'

/** A slice of a project. */
export interface SliceEntry {
  /** Key in the store. */
  readonly key: string
  readonly source: Source
  /** Folder, archive or image that contains its classes. */
  readonly location: string
}

/** A slice of a project in memory. */
export interface IndexedSlice extends SliceEntry, LoadedSlice {
  /** Id of its first class in the index. */
  readonly firstClass: number
}

/** Data of a slice that does not depend on its position on the class path. */
export interface LoadedSlice {
  /** Digest whose strings are ids of the index's names; annotations are sorted by type. */
  readonly digest: DigestTables
  /** Rows of the digest's types in ascending order of names. */
  readonly typeOrder: Int32Array
}

/** Returns the columns whose values are names. */
export function nameColumns({ classes, interfaces, methods, types, callees, annotations }: DigestTables) {
  return [
    classes.name,
    classes.superName,
    interfaces.name,
    methods.name,
    methods.returns,
    types.name,
    callees.owner,
    callees.name,
    annotations.type,
  ]
}

/** Copies a digest into memory and adds its strings to the names. */
export function loadSlice(packed: Digest, names: StringPool): LoadedSlice {
  const { strings, texts } = packed
  const { bytes, offsets } = strings
  const nameOf = new Int32Array(texts.count)
  for (let id = 0; id < texts.count; id++)
    nameOf[id] = names.idOf(bytes, offsets[id] ?? 0, offsets[id + 1] ?? 0, texts.hash[id] ?? 0)
  const digest = copyDigest(packed)
  for (const column of nameColumns(digest))
    for (let row = 0; row < column.length; row++) column[row] = nameOf[column[row] ?? -1] ?? -1
  sortAnnotations(digest.annotations)
  return { digest, typeOrder: orderOf(digest.types.name) }
}

function sortAnnotations(annotations: DigestTables['annotations']): void {
  const order = orderOf(annotations.type)
  const { type, class: owner, row, targetKind, target } = annotations
  for (const column of [type, owner, row, targetKind, target]) column.set(order.map((at) => column[at] ?? 0))
}

/** More rows than any sorted column of a slice has. */
const ROWS = 2 ** 21

/** Returns the rows in ascending order of values; the sort is stable. */
function orderOf(values: Int32Array): Int32Array {
  // Value and row are combined into one sortable number. `from` with a function takes ten times as long as a loop.
  const both = new Float64Array(values.length)
  for (let row = 0; row < values.length; row++) both[row] = (values[row] ?? 0) * ROWS + row
  both.sort()
  const order = new Int32Array(values.length)
  for (let at = 0; at < order.length; at++) {
    const each = both[at] ?? 0
    order[at] = each - Math.floor(each / ROWS) * ROWS
  }
  return order
}
