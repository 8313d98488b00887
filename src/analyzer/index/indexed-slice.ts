import type { Source } from '../classpath/source.ts'
import { copyDigest, type Digest, type DigestTables } from './digest.ts'
import type { StringPool } from './string-pool.ts'

/** A slice that a project consists of. */
export interface SliceEntry {
  /** In the store. */
  readonly key: string
  readonly source: Source
  /** Folder, archive or image that its classes come from. */
  readonly location: string
}

/** One slice in memory. */
export interface IndexedSlice extends SliceEntry, LoadedSlice {
  /** The id, in the index, of its first class. */
  readonly firstClass: number
}

/** What is held of a slice, wherever it is on the class path. */
export interface LoadedSlice {
  /** With strings as ids of the index's names; annotations are sorted by type. */
  readonly digest: DigestTables
  /** The rows of the digest's types, by rising name. */
  readonly typeOrder: Int32Array
}

/** The columns whose values are names. */
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

/** Takes a digest into memory, and its strings into the names. */
export function loadSlice(packed: Digest, names: StringPool): LoadedSlice {
  const { strings, texts } = packed
  const { bytes, offsets } = strings
  const nameOf = texts.hash.map((hash, id) => names.idOf(bytes, offsets[id] ?? 0, offsets[id + 1] ?? 0, hash))
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

/** More than a slice has rows of anything that is sorted. */
const ROWS = 2 ** 21

/** The rows by rising value, those of the same value as they are. */
function orderOf(values: Int32Array): Int32Array {
  // Sorted as one number each: the value above, the row below.
  const both = Float64Array.from(values, (value, row) => value * ROWS + row).toSorted()
  return Int32Array.from(both, (each) => each - Math.floor(each / ROWS) * ROWS)
}
