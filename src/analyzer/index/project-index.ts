import { ACC } from '../bytecode/access-flags.ts'
import type { Digest, DigestTables } from './digest.ts'
import {
  type LoadedSlice,
  loadSlice,
  type IndexedSlice,
  nameColumns,
  type SliceEntry,
} from './indexed-slice.ts'
import { MethodLookup } from './method-lookup.ts'
import { NameList } from './name-list.ts'
import { lowerBound } from './lower-bound.ts'
import { StringPool } from './string-pool.ts'
import { SubtypeTable } from './subtype-table.ts'

/**
 * In-memory index of the classes of a project and its dependencies. A class has an id from 0, in class path
 * order; the first class of a name counts, as for the JVM. Immutable: a refresh creates another index, which
 * shares unchanged data.
 */
export class ProjectIndex {
  readonly slices: readonly IndexedSlice[]
  readonly classCount: number
  /** All names in digests; a refresh may add more. */
  readonly names: StringPool
  /** Class id by name id; -1 if the name is not a class. */
  readonly #classOfName: Int32Array
  readonly #sliceOf: Uint16Array
  /** Name id by class id. */
  readonly #nameIds: Int32Array
  /** Name ids of classes, sorted by text. */
  readonly #sortedNames: Int32Array
  /** Number of names before the first refresh. */
  readonly namesAtFirst: number
  #byName: Int32Array | undefined
  #ranks: Int32Array | undefined
  #ofProject: Int32Array | undefined
  #written: Int32Array | undefined
  /** Written classes around the compiler's, or -1. */
  readonly #around = new Map<number, number>()
  #writtenOfProject: Int32Array | undefined
  #classNames: NameList | undefined
  #typeNames: NameList | undefined
  #methodNames: NameList | undefined
  #methodsByName: MethodLookup | undefined
  #methodsByReturn: MethodLookup | undefined
  #returnTypes: NameList | undefined
  #subtypes: SubtypeTable | undefined

  /** @param before index with the same names, whose order is reused */
  constructor(slices: readonly IndexedSlice[], names: StringPool, before: ProjectIndex | undefined) {
    this.names = names
    this.slices = slices
    this.classCount = slices.reduce((sum, { digest }) => sum + digest.classes.count, 0)
    this.#sliceOf = new Uint16Array(this.classCount)
    this.#nameIds = new Int32Array(this.classCount)
    this.#classOfName = new Int32Array(names.count).fill(-1)
    for (const [index, { digest, firstClass }] of slices.entries()) {
      this.#sliceOf.fill(index, firstClass, firstClass + digest.classes.count)
      this.#nameIds.set(digest.classes.name, firstClass)
      for (const [row, name] of digest.classes.name.entries())
        if (this.#classOfName[name] === -1) this.#classOfName[name] = firstClass + row
    }
    this.#sortedNames = sortNames(
      names,
      this.#classOfName,
      before === undefined ? undefined : before.#sortedNames,
    )
    this.namesAtFirst = before?.namesAtFirst ?? names.count
  }

  /** Returns the slice of a class. @throws RangeError when the id is invalid */
  sliceOf(id: number): IndexedSlice {
    const slice = this.slices[this.#sliceOf[id] ?? -1]
    if (slice === undefined) throw new RangeError(`class ${id} does not exist`)
    return slice
  }

  /** Returns the row of a class in its slice. */
  rowOf(id: number): number {
    return id - this.sliceOf(id).firstClass
  }

  /** Returns a class's internal name. */
  nameOf(id: number): string {
    return this.names.get(this.nameIdOf(id))
  }

  /** Returns the id of a class's name. */
  nameIdOf(id: number): number {
    return this.#nameIds[id] ?? -1
  }

  /** Finds a class by its internal name. */
  find(name: string): number | undefined {
    const id = this.names.find(name)
    return id === undefined ? undefined : this.findByNameId(id)
  }

  /** Finds a class by the id of its name. */
  findByNameId(name: number): number | undefined {
    const id = this.#classOfName[name] ?? -1
    return id === -1 ? undefined : id
  }

  /** Whether another class of the same name precedes it on the class path. */
  isHidden(id: number): boolean {
    return this.#classOfName[this.nameIdOf(id)] !== id
  }

  /** Returns all classes that are not hidden, sorted by name. */
  byName(): Int32Array {
    this.#byName ??= this.#sortedNames.map((name) => this.#classOfName[name] ?? -1)
    return this.#byName
  }

  /** Returns the classes of the project, sorted by name. */
  ofProject(): Int32Array {
    this.#ofProject ??= this.byName().filter((id) => this.sliceOf(id).source === 'PROJECT')
    return this.#ofProject
  }

  /** Whether a compiler made a class that nobody wrote, in one that somebody wrote. */
  isMade(id: number): boolean {
    return this.#isSynthetic(id) && this.classAround(id) !== undefined
  }

  /** Returns the written class around one that a compiler made, by its name; undefined if there is none. */
  classAround(id: number): number | undefined {
    let found = this.#around.get(id)
    if (found === undefined) this.#around.set(id, (found = this.#findAround(id)))
    return found === -1 ? undefined : found
  }

  #findAround(id: number): number {
    const name = this.nameOf(id)
    const start = name.lastIndexOf('/') + 1
    for (let at = name.lastIndexOf('$'); at > start; at = name.lastIndexOf('$', at - 1)) {
      const outer = this.find(name.slice(0, at))
      if (outer !== undefined && !this.#isSynthetic(outer)) return outer
    }
    return -1
  }

  #isSynthetic(id: number): boolean {
    const { digest, firstClass } = this.sliceOf(id)
    return ((digest.classes.accessFlags[id - firstClass] ?? 0) & ACC.SYNTHETIC) !== 0
  }

  /** Returns the classes of `byName` that a person wrote. */
  writtenByName(): Int32Array {
    this.#written ??= this.byName().filter((id) => !this.isMade(id))
    return this.#written
  }

  /** Returns the classes of `ofProject` that a person wrote. */
  writtenOfProject(): Int32Array {
    this.#writtenOfProject ??= this.ofProject().filter((id) => !this.isMade(id))
    return this.#writtenOfProject
  }

  /** Returns a lookup of methods by name. */
  methodsByName(): MethodLookup {
    this.#methodsByName ??= new MethodLookup('name', this.slices, this.names)
    return this.#methodsByName
  }

  /** Returns a lookup of methods by return descriptor. */
  methodsByReturn(): MethodLookup {
    this.#methodsByReturn ??= new MethodLookup('returns', this.slices, this.names)
    return this.#methodsByReturn
  }

  /** Returns the names of classes. */
  classNames(): NameList {
    this.#classNames ??= new NameList(this.names, this.#sortedNames.toSorted())
    return this.#classNames
  }

  /** Returns the names of all types mentioned in class files. */
  typeNames(): NameList {
    this.#typeNames ??= this.#distinct(({ types }) => types.name)
    return this.#typeNames
  }

  /** Returns the names of methods. */
  methodNames(): NameList {
    this.#methodNames ??= this.#distinct(({ methods }) => methods.name)
    return this.#methodNames
  }

  /** Returns the return descriptors of methods. */
  returnTypes(): NameList {
    this.#returnTypes ??= this.#distinct(({ methods }) => methods.returns)
    return this.#returnTypes
  }

  /**
   * Returns the classes that directly extend or implement a type, by the id of its name. `kinds` are
   * USE.EXTENDS and USE.IMPLEMENTS.
   */
  subtypesOf(name: number, kinds: readonly number[]): readonly number[] {
    this.#subtypes ??= new SubtypeTable(this.slices, this.names.count, (id) => this.isHidden(id))
    return this.#subtypes.of(name, kinds)
  }

  /** Returns each class's position in `byName`, by class id; 0 for a hidden class. */
  ranks(): Int32Array {
    if (this.#ranks === undefined) {
      const ranks = new Int32Array(this.classCount)
      for (const [rank, id] of this.byName().entries()) ranks[id] = rank
      this.#ranks = ranks
    }
    return this.#ranks
  }

  /** Whether any class uses a type, by the id of its name. */
  isUsed(type: number): boolean {
    return this.slices.some(
      ({ digest, typeOrder }) => rowOfType(type, digest.types.name, typeOrder) !== undefined,
    )
  }

  /** Returns the classes that use a type, with kind and count; within a slice in the order of its classes. */
  *usesOf(type: number): Generator<{ readonly id: number; readonly kind: number; readonly count: number }> {
    for (const { digest, typeOrder, firstClass } of this.slices) {
      const { uses, types } = digest
      const at = rowOfType(type, types.name, typeOrder)
      if (at === undefined) continue
      const end = types.firstUse[at + 1] ?? 0
      for (let row = types.firstUse[at] ?? 0; row < end; row++) {
        let count = uses.times[row] ?? 0
        // Counts over 255 continue in the next row.
        for (; row + 1 < end && isSame(uses, row, row + 1); row++) count += uses.times[row + 1] ?? 0
        yield { id: firstClass + (uses.class[row] ?? 0), kind: uses.kind[row] ?? 0, count }
      }
    }
  }

  #distinct(columnOf: (digest: DigestTables) => Int32Array): NameList {
    const isUsed = new Uint8Array(this.names.count)
    for (const { digest } of this.slices) for (const name of columnOf(digest)) isUsed[name] = 1
    const ids: number[] = []
    for (let name = 0; name < isUsed.length; name++) if (isUsed[name] === 1) ids.push(name)
    return new NameList(this.names, Int32Array.from(ids))
  }
}

function rowOfType(type: number, names: Int32Array, order: Int32Array): number | undefined {
  const row = order[lowerBound(0, order.length, (at) => (names[order[at] ?? 0] ?? 0) < type)]
  return row !== undefined && names[row] === type ? row : undefined
}

function isSame(uses: DigestTables['uses'], a: number, b: number): boolean {
  return uses.class[a] === uses.class[b] && uses.kind[a] === uses.kind[b]
}

/** Builds an index from slices' digests, reusing unchanged data of the previous index. */
export class IndexBuilder {
  /** Previous index, if its names are reused. */
  readonly #before: ProjectIndex | undefined
  readonly #names: StringPool
  readonly #loaded: Map<string, LoadedSlice>

  constructor(before: ProjectIndex | undefined) {
    this.#before = before === undefined || hasManyUnusedNames(before) ? undefined : before
    this.#names = this.#before?.names ?? new StringPool()
    this.#loaded = new Map(
      this.#before?.slices.map(({ key, digest, typeOrder }) => [key, { digest, typeOrder }]),
    )
  }

  /** Whether a slice is loaded. */
  has(key: string): boolean {
    return this.#loaded.has(key)
  }

  /** Loads a slice's digest. */
  add(key: string, digest: Digest): void {
    this.#loaded.set(key, loadSlice(digest, this.#names))
  }

  /** Builds the index of loaded slices, given in class path order. */
  build(entries: readonly SliceEntry[]): ProjectIndex {
    if (this.#before === undefined) this.#names.trim()
    let firstClass = 0
    const slices = entries.flatMap((entry) => {
      const loaded = this.#loaded.get(entry.key)
      if (loaded === undefined) return []
      const slice = { ...entry, ...loaded, firstClass }
      firstClass += loaded.digest.classes.count
      return [slice]
    })
    return new ProjectIndex(slices, this.#names, this.#before)
  }
}

/** Whether most names are unused: each refresh leaves some behind. */
function hasManyUnusedNames({ slices, names, namesAtFirst }: ProjectIndex): boolean {
  // Counting takes longer than a small refresh.
  if (names.count < 1.5 * namesAtFirst) return false
  const used = new Uint8Array(names.count)
  for (const { digest } of slices)
    for (const column of nameColumns(digest)) for (const id of column) used[id] = 1
  const count = used.reduce((sum, each) => sum + each, 0)
  return names.count > 2 * count
}

/**
 * Returns the names that are classes, sorted by text.
 *
 * @param classOf class id by name id; -1 if the name is not a class
 * @param before names in that order, most of which are still classes
 */
function sortNames(
  names: StringPool,
  classOf: Int32Array,
  before: Int32Array = new Int32Array(),
): Int32Array {
  const remaining = before.filter((name) => (classOf[name] ?? -1) !== -1)
  const isRemaining = new Uint8Array(classOf.length)
  for (const name of remaining) isRemaining[name] = 1
  const added: { readonly name: number; readonly text: string }[] = []
  for (let name = 0; name < classOf.length; name++) {
    if (classOf[name] !== -1 && isRemaining[name] === 0) added.push({ name, text: names.decode(name) })
  }
  added.sort((a, b) => (a.text < b.text ? -1 : 1))
  const sorted = new Int32Array(remaining.length + added.length)
  let from = 0
  for (const [index, { name, text }] of added.entries()) {
    const to = lowerBound(from, remaining.length, (at) => names.decode(remaining[at] ?? 0) < text)
    sorted.set(remaining.subarray(from, to), from + index)
    sorted[to + index] = name
    from = to
  }
  sorted.set(remaining.subarray(from), from + added.length)
  return sorted
}
