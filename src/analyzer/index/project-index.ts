import type { Digest } from './digest.ts'

/** More than a slice's types. */
const ROWS = 2 ** 21

export type Source = 'PROJECT' | 'LIBRARY' | 'JDK'

/** A slice that a project consists of. */
export interface SliceEntry {
  /** In the store. */
  readonly key: string
  readonly source: Source
  /** Folder, archive or image that its classes come from. */
  readonly location: string
}

/** One slice in memory. Its digest's string ids become the index's by `nameOf`. */
export interface IndexedSlice extends SliceEntry {
  readonly digest: Digest
  /** The index's ids of class and member names; -1 for the digest's other strings. */
  readonly nameOf: Int32Array
  /** The id, in the index, of its first class. */
  readonly firstClass: number
  /** The names of the digest's types in rising order of the index's ids, and each one's row in `types`. */
  readonly typeNames: Int32Array
  readonly typeRows: Int32Array
}

/**
 * The classes of a project and of what it is built on, in memory. A class has an id from 0, in the order of the class path;
 * of classes of one name the first counts, as for the JVM. Immutable: a refresh makes another, which shares what has not changed.
 */
export class ProjectIndex {
  readonly slices: readonly IndexedSlice[]
  readonly classCount: number
  readonly #names: Names
  readonly #classOfName: Map<number, number>
  readonly #sliceOf: Uint16Array
  #byName: Int32Array | undefined

  constructor(entries: readonly (SliceEntry & { readonly digest: Digest })[], before?: ProjectIndex) {
    this.#names = before?.fits(entries.length) === true ? before.#names : new Names()
    const known = new Map(before?.slices.map((slice) => [slice.digest, slice]))
    let firstClass = 0
    this.slices = entries.map((entry) => {
      const old = this.#names === before?.names ? known.get(entry.digest) : undefined
      const slice = { ...(old ?? this.#take(entry)), ...entry, firstClass }
      firstClass += entry.digest.classes.count
      return slice
    })
    this.classCount = firstClass
    this.#sliceOf = new Uint16Array(firstClass)
    this.#classOfName = new Map()
    for (const [index, { digest, nameOf, firstClass: first }] of this.slices.entries()) {
      for (let row = 0; row < digest.classes.count; row++) {
        const name = nameOf[digest.classes.name[row] ?? -1] ?? -1
        this.#sliceOf[first + row] = index
        if (!this.#classOfName.has(name)) this.#classOfName.set(name, first + row)
      }
    }
  }

  get names(): Names {
    return this.#names
  }

  /** Whether its names may be kept: each refresh leaves some that nothing uses any more. */
  fits(slices: number): boolean {
    return slices > 0 && this.#names.count < 4 * this.#usedNames()
  }

  sliceOf(id: number): IndexedSlice {
    const slice = this.slices[this.#sliceOf[id] ?? -1]
    if (slice === undefined) throw new RangeError(`there is no class ${id}`)
    return slice
  }

  rowOf(id: number): number {
    return id - this.sliceOf(id).firstClass
  }

  /** The class's internal name. */
  nameOf(id: number): string {
    return this.#names.get(this.nameIdOf(id))
  }

  nameIdOf(id: number): number {
    const { digest, nameOf, firstClass } = this.sliceOf(id)
    return nameOf[digest.classes.name[id - firstClass] ?? -1] ?? -1
  }

  /** By internal name. */
  find(name: string): number | undefined {
    const id = this.#names.find(name)
    return id === undefined ? undefined : this.#classOfName.get(id)
  }

  /** By the id of its name in `names`. */
  findByNameId(name: number): number | undefined {
    return this.#classOfName.get(name)
  }

  /** Whether another class of that name comes earlier on the class path. */
  isHidden(id: number): boolean {
    return this.#classOfName.get(this.nameIdOf(id)) !== id
  }

  /** All classes that are not hidden, by name. */
  byName(): Int32Array {
    this.#byName ??= Int32Array.from(
      [...this.#classOfName]
        .map(([name, id]) => ({ text: this.#names.get(name), id }))
        .toSorted((a, b) => (a.text < b.text ? -1 : 1))
        .map(({ id }) => id),
    )
    return this.#byName
  }

  /** The classes that use a type, with how and how often; within a slice in the order of its classes. */
  *usesOf(type: number): Generator<{ readonly id: number; readonly kind: number; readonly count: number }> {
    for (const { digest, typeNames, typeRows, firstClass } of this.slices) {
      const at = typeRows[placeOf(type, typeNames)]
      if (at === undefined) continue
      const { uses, types } = digest
      for (let row = types.firstUse[at] ?? 0; row < (types.firstUse[at + 1] ?? 0); row++) {
        yield {
          id: firstClass + (uses.class[row] ?? 0),
          kind: uses.kind[row] ?? 0,
          count: uses.times[row] ?? 0,
        }
      }
    }
  }

  #usedNames(): number {
    return this.slices.reduce((sum, { typeNames }) => sum + typeNames.length, 0)
  }

  #take({ digest }: { readonly digest: Digest }): Pick<IndexedSlice, 'nameOf' | 'typeNames' | 'typeRows'> {
    const { strings, classes, interfaces, methods, types, callees, annotations } = digest
    const nameOf = new Int32Array(strings.count).fill(-1)
    for (const column of [
      classes.name,
      classes.superName,
      interfaces.name,
      methods.name,
      types.name,
      callees.owner,
      callees.name,
      annotations.type,
    ]) {
      for (const id of column) {
        if (id >= 0 && nameOf[id] === -1) nameOf[id] = this.#names.idOf(strings.get(id))
      }
    }
    // Sorted as one number each: the name above, the row below.
    const sorted = Float64Array.from(types.name, (name, row) => (nameOf[name] ?? 0) * ROWS + row).toSorted()
    return {
      nameOf,
      typeNames: Int32Array.from(sorted, (both) => Math.floor(both / ROWS)),
      typeRows: Int32Array.from(sorted, (both) => both % ROWS),
    }
  }
}

/** Where a value is in a sorted array, or -1. */
function placeOf(value: number, sorted: Int32Array): number {
  let low = 0
  let high = sorted.length - 1
  while (low <= high) {
    const middle = (low + high) >> 1
    const found = sorted[middle] ?? 0
    if (found === value) return middle
    if (found < value) low = middle + 1
    else high = middle - 1
  }
  return -1
}

/** The names of classes and members, each once. */
export class Names {
  readonly #texts: string[] = []
  readonly #ids = new Map<string, number>()

  get count(): number {
    return this.#texts.length
  }

  idOf(text: string): number {
    let id = this.#ids.get(text)
    if (id === undefined) {
      id = this.#texts.push(text) - 1
      this.#ids.set(text, id)
    }
    return id
  }

  find(text: string): number | undefined {
    return this.#ids.get(text)
  }

  get(id: number): string {
    const text = this.#texts[id]
    if (text === undefined) throw new RangeError(`there is no name ${id}`)
    return text
  }
}
