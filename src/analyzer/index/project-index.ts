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
 * The classes of a project and of what it is built on, in memory. A class has an id from 0, in the order of the class path;
 * of classes of one name the first counts, as for the JVM. Immutable: a refresh makes another, which shares what has not changed.
 */
export class ProjectIndex {
  readonly slices: readonly IndexedSlice[]
  readonly classCount: number
  /** All names that digests have; a refresh may add more. */
  readonly names: StringPool
  /** By name's id; -1 for what is no class. */
  readonly #classOfName: Int32Array
  readonly #sliceOf: Uint16Array
  /** By class id. */
  readonly #nameIds: Int32Array
  /** The names of classes, by their texts. */
  readonly #sortedNames: Int32Array
  /** How many names there were before the first refresh. */
  readonly namesAtFirst: number
  #byName: Int32Array | undefined
  #ranks: Int32Array | undefined
  #ofProject: Int32Array | undefined
  #classNames: NameList | undefined
  #typeNames: NameList | undefined
  #methodNames: NameList | undefined
  #methodsByName: MethodLookup | undefined
  #methodsByReturn: MethodLookup | undefined
  #returnTypes: NameList | undefined
  #subtypes: SubtypeTable | undefined

  /** @param before one with the same names, whose order is taken over */
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
    return this.names.get(this.nameIdOf(id))
  }

  nameIdOf(id: number): number {
    return this.#nameIds[id] ?? -1
  }

  /** By internal name. */
  find(name: string): number | undefined {
    const id = this.names.find(name)
    return id === undefined ? undefined : this.findByNameId(id)
  }

  /** By the id of its name in `names`. */
  findByNameId(name: number): number | undefined {
    const id = this.#classOfName[name] ?? -1
    return id === -1 ? undefined : id
  }

  /** Whether another class of that name comes earlier on the class path. */
  isHidden(id: number): boolean {
    return this.#classOfName[this.nameIdOf(id)] !== id
  }

  /** All classes that are not hidden, by name. */
  byName(): Int32Array {
    this.#byName ??= this.#sortedNames.map((name) => this.#classOfName[name] ?? -1)
    return this.#byName
  }

  /** Those of the project's own, by name. */
  ofProject(): Int32Array {
    this.#ofProject ??= this.byName().filter((id) => this.sliceOf(id).source === 'PROJECT')
    return this.#ofProject
  }

  methodsByName(): MethodLookup {
    this.#methodsByName ??= new MethodLookup('name', this.slices, this.names)
    return this.#methodsByName
  }

  /** By the descriptors of what they return. */
  methodsByReturn(): MethodLookup {
    this.#methodsByReturn ??= new MethodLookup('returns', this.slices, this.names)
    return this.#methodsByReturn
  }

  /** The names of classes. */
  classNames(): NameList {
    this.#classNames ??= new NameList(this.names, this.#sortedNames.toSorted())
    return this.#classNames
  }

  /** The same of all types that class files name. */
  typeNames(): NameList {
    this.#typeNames ??= this.#distinct(({ types }) => types.name)
    return this.#typeNames
  }

  /** The same of the names that methods have. */
  methodNames(): NameList {
    this.#methodNames ??= this.#distinct(({ methods }) => methods.name)
    return this.#methodNames
  }

  /** The same of the descriptors of what methods return. */
  returnTypes(): NameList {
    this.#returnTypes ??= this.#distinct(({ methods }) => methods.returns)
    return this.#returnTypes
  }

  /** The classes that directly extend or implement a type, by the id of its name, as USE.EXTENDS or USE.IMPLEMENTS. */
  subtypesOf(name: number, kinds: readonly number[]): readonly number[] {
    this.#subtypes ??= new SubtypeTable(this.slices, this.names.count, (id) => this.isHidden(id))
    return this.#subtypes.of(name, kinds)
  }

  /** By class id: its place in `byName`; 0 for a hidden one. */
  ranks(): Int32Array {
    if (this.#ranks === undefined) {
      const ranks = new Int32Array(this.classCount)
      for (const [rank, id] of this.byName().entries()) ranks[id] = rank
      this.#ranks = ranks
    }
    return this.#ranks
  }

  /** Whether a class uses a type of that name's id. */
  isUsed(type: number): boolean {
    return this.slices.some(
      ({ digest, typeOrder }) => rowOfType(type, digest.types.name, typeOrder) !== undefined,
    )
  }

  /** The classes that use a type, with how and how often; within a slice in the order of its classes. */
  *usesOf(type: number): Generator<{ readonly id: number; readonly kind: number; readonly count: number }> {
    for (const { digest, typeOrder, firstClass } of this.slices) {
      const { uses, types } = digest
      const at = rowOfType(type, types.name, typeOrder)
      if (at === undefined) continue
      const end = types.firstUse[at + 1] ?? 0
      for (let row = types.firstUse[at] ?? 0; row < end; row++) {
        let count = uses.times[row] ?? 0
        // What is more than a row counts goes on in the next.
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

/** Makes an index of slices' digests, and takes over from the one before it what is the same. */
export class IndexBuilder {
  /** With the same names. */
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

  has(key: string): boolean {
    return this.#loaded.has(key)
  }

  add(key: string, digest: Digest): void {
    this.#loaded.set(key, loadSlice(digest, this.#names))
  }

  /** Of slices that have been added, in the order of the class path. */
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

/** Each refresh leaves names that nothing has any more. */
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
 * The names that are classes, in the order of their texts.
 *
 * @param classOf by name's id; -1 for what is no class
 * @param before names in that order, most of which are still classes
 */
function sortNames(
  names: StringPool,
  classOf: Int32Array,
  before: Int32Array = new Int32Array(),
): Int32Array {
  const kept = before.filter((name) => (classOf[name] ?? -1) !== -1)
  const isKept = new Uint8Array(classOf.length)
  for (const name of kept) isKept[name] = 1
  const added: { readonly name: number; readonly text: string }[] = []
  for (let name = 0; name < classOf.length; name++) {
    if (classOf[name] !== -1 && isKept[name] === 0) added.push({ name, text: names.decode(name) })
  }
  added.sort((a, b) => (a.text < b.text ? -1 : 1))
  const sorted = new Int32Array(kept.length + added.length)
  let from = 0
  for (const [index, { name, text }] of added.entries()) {
    const to = lowerBound(from, kept.length, (at) => names.decode(kept[at] ?? 0) < text)
    sorted.set(kept.subarray(from, to), from + index)
    sorted[to + index] = name
    from = to
  }
  sorted.set(kept.subarray(from), from + added.length)
  return sorted
}
