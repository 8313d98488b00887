import { USE } from './digest.ts'
import type { IndexedSlice } from './indexed-slice.ts'

/**
 * Direct subtypes of all types. Searching the uses slice by slice instead would cost one search per slice.
 */
export class SubtypeTable {
  /** Index of each type's first subtype, by name id. */
  readonly #first: Int32Array
  readonly #child: Int32Array
  readonly #kind: Uint8Array

  constructor(slices: readonly IndexedSlice[], nameCount: number, isHidden: (id: number) => boolean) {
    const first = new Int32Array(nameCount + 1)
    for (const { parent } of edges(slices, isHidden)) first[parent + 1] = (first[parent + 1] ?? 0) + 1
    for (let name = 0; name < nameCount; name++) first[name + 1] = (first[name + 1] ?? 0) + (first[name] ?? 0)
    const next = first.slice()
    this.#first = first
    this.#child = new Int32Array(first.at(-1) ?? 0)
    this.#kind = new Uint8Array(this.#child.length)
    for (const { parent, child, kind } of edges(slices, isHidden)) {
      const at = next[parent] ?? 0
      next[parent] = at + 1
      this.#child[at] = child
      this.#kind[at] = kind
    }
  }

  /** Returns the direct subtypes of a type, by the id of its name, in the order of classes. */
  of(name: number, kinds: readonly number[]): readonly number[] {
    const found: number[] = []
    for (let at = this.#first[name] ?? 0; at < (this.#first[name + 1] ?? 0); at++)
      if (kinds.includes(this.#kind[at] ?? 0)) found.push(this.#child[at] ?? 0)
    return found
  }
}

/** A class is not its own subtype, and hidden classes do not count. */
function* edges(
  slices: readonly IndexedSlice[],
  isHidden: (id: number) => boolean,
): Generator<{ readonly parent: number; readonly child: number; readonly kind: number }> {
  for (const { digest, firstClass } of slices) {
    const { classes, interfaces } = digest
    for (let row = 0; row < classes.count; row++) {
      const child = firstClass + row
      const self = classes.name[row] ?? -1
      if (isHidden(child)) continue
      const parent = classes.superName[row] ?? -1
      if (parent >= 0 && parent !== self) yield { parent, child, kind: USE.EXTENDS }
      for (let at = classes.firstInterface[row] ?? 0; at < (classes.firstInterface[row + 1] ?? 0); at++) {
        const name = interfaces.name[at] ?? -1
        if (name !== self) yield { parent: name, child, kind: USE.IMPLEMENTS }
      }
    }
  }
}
