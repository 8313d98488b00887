import { ACC } from '../../bytecode/access-flags.ts'
import type { IndexedSlice } from '../../index/indexed-slice.ts'
import type { ProjectIndex } from '../../index/project-index.ts'
import { type CallGraph, callGraphOf } from '../paths/call-graph.ts'
import { LIMIT, partsOf, partsOfReceiver } from '../paths/slice-calls.ts'
import type { Snapshot } from '../snapshot.ts'
import { allSupertypes, directSubtypes, supertypesOf } from '../types/subtypes.ts'
import { NumberPool } from './number-pool.ts'
import { readUses, type SliceUses, TYPE_USE, type UsePools } from './read-uses.ts'
import type { Named } from './named.ts'
import { Callbacks } from './callbacks.ts'
import type { AnnotatedUses, Code, MethodUses } from './traverse.ts'

/** Code is dropped after so long without a query. */
const IDLE_MS = 30_000

const NOTHING: Named = { classes: [], initialized: [], members: [] }

/** A call site without its caller. */
export interface Site {
  /** Id of the type's name in the bytecode. */
  readonly owner: number
  readonly isDispatched: boolean
  /** As in `signatureOf`. */
  readonly signature: number
}

/**
 * Code of the classes that a search covers: the project's, or all of them. Numbers of methods are those of
 * the call graph.
 */
export class ProjectCode implements Code {
  readonly graph: CallGraph
  readonly methodCount: number
  readonly classCount: number
  readonly pools: UsePools = {
    signatures: new NumberPool(),
    sites: new NumberPool(),
    fields: new NumberPool(),
  }
  readonly callbacks: Callbacks
  readonly #snapshot: Snapshot
  readonly #index: ProjectIndex
  readonly #includeLibraries: boolean
  readonly #uses = new Map<IndexedSlice, SliceUses>()
  /** Class of each method in scope. */
  readonly #classOf: Int32Array
  /** Superclass in scope of each class in scope, or -1. */
  readonly #superOf: Int32Array
  /** Methods in scope by class and signature, and the method of each. */
  readonly #declared = new NumberPool()
  readonly #declaredMethods: number[] = []
  /** 1 for signatures that interfaces in scope declare. */
  #isOfInterface = new Uint8Array()
  /** 1 for names of classes in scope, and of their supertypes. */
  readonly #isAbove: Uint8Array
  readonly #initializers = new Map<number, number>()
  /** Classes with annotations of packages that name anything, by the package's prefix of names. */
  readonly #packages = new Map<string, number>()

  private constructor(snapshot: Snapshot, includeLibraries: boolean) {
    this.#snapshot = snapshot
    this.#index = snapshot.index
    this.#includeLibraries = includeLibraries
    this.graph = callGraphOf(snapshot)
    this.callbacks = new Callbacks(snapshot, this)
    this.methodCount = this.graph.methodCount
    this.classCount = this.#index.classCount
    this.#classOf = new Int32Array(this.methodCount).fill(-1)
    this.#superOf = new Int32Array(this.classCount).fill(-1)
    this.#isAbove = new Uint8Array(this.#index.names.count)
  }

  /** Reads the code; yields after each class. */
  static *read(snapshot: Snapshot, includeLibraries: boolean): Generator<void, ProjectCode> {
    const code = new ProjectCode(snapshot, includeLibraries)
    for (const slice of snapshot.index.slices) {
      if (!code.covers(slice)) continue
      const uses = yield* readUses(
        snapshot.index,
        slice,
        snapshot.facts(slice),
        code.graph.descriptors,
        code.pools,
      )
      code.#uses.set(slice, uses)
      for (const row of uses.annotated.keys()) code.#addPackage(slice.firstClass + row)
      yield* code.#addMethods(slice)
    }
    yield* code.#cutCycles()
    return code
  }

  get siteCount(): number {
    return this.pools.sites.count
  }

  /** Whether calls in a slice are followed. */
  covers({ source }: IndexedSlice): boolean {
    return this.#includeLibraries || source === 'PROJECT'
  }

  /** Whether calls in a class are followed. */
  includes(classId: number): boolean {
    return this.covers(this.#index.sliceOf(classId)) && !this.#index.isHidden(classId)
  }

  usesOf(method: number): MethodUses {
    const { slice, row } = this.graph.placeOf(method)
    const uses = this.#uses.get(slice)
    if (uses === undefined)
      return { sites: new Int32Array(), created: [], initialized: [], reflected: [], named: [] }
    const created: number[] = []
    const initialized: number[] = []
    const reflected: number[] = []
    for (const each of uses.types.subarray(uses.firstType[row], uses.firstType[row + 1])) {
      const use = each & 3
      if (use === TYPE_USE.MENTIONED) continue
      const classId = this.#index.findByNameId(each >> 2)
      if (classId === undefined || !this.includes(classId)) continue
      if (use === TYPE_USE.STATIC_FIELD) initialized.push(classId)
      else if (use === TYPE_USE.LITERAL) reflected.push(classId)
      else created.push(classId)
    }
    const { classes, members } = uses.named.get(row) ?? NOTHING
    return {
      sites: uses.sites.subarray(uses.firstSite[row], uses.firstSite[row + 1]),
      created,
      initialized,
      reflected: [...reflected, ...this.#classesIn(classes)],
      named: members.map((name) => this.#index.names.find(name) ?? -1).filter((name) => name >= 0),
    }
  }

  /** Returns the names of members that the calls of a method look up. */
  namesIn(method: number): readonly string[] {
    const { slice, row } = this.graph.placeOf(method)
    return this.#uses.get(slice)?.named.get(row)?.members ?? []
  }

  annotatedUsesOf(classId: number): AnnotatedUses {
    const { classes, initialized } = this.#annotationsOf(classId)
    return {
      initialized: [...this.#classesIn(initialized), ...this.#packageOf(classId)],
      reflected: this.#classesIn(classes),
      methods: this.annotatedMembersOf(classId).flatMap(({ classId: owner, names }) =>
        this.graph.methodsOf(owner).filter((method) => names.has(this.nameOf(method))),
      ),
    }
  }

  /** Returns the members that the annotations in a class name: its own, and those of classes that they name. */
  annotatedMembersOf(
    classId: number,
  ): readonly { readonly classId: number; readonly names: ReadonlySet<string> }[] {
    const { classes, members } = this.#annotationsOf(classId)
    if (members.length === 0) return []
    const names = new Set(members)
    return [classId, ...this.#classesIn(classes)].map((owner) => ({ classId: owner, names }))
  }

  /** Returns the class with the annotations of a class's package, if they name anything. */
  #packageOf(classId: number): readonly number[] {
    if (this.#packages.size === 0) return []
    const name = this.#index.nameOf(classId)
    const found = this.#packages.get(name.slice(0, name.lastIndexOf('/') + 1))
    return found === undefined ? [] : [found]
  }

  #annotationsOf(classId: number): Named {
    const slice = this.#index.sliceOf(classId)
    return this.#uses.get(slice)?.annotated.get(classId - slice.firstClass) ?? NOTHING
  }

  /** Returns the classes in scope with names, given by their ids. */
  #classesIn(names: readonly number[]): readonly number[] {
    return names
      .map((name) => this.#index.findByNameId(name) ?? -1)
      .filter((classId) => classId >= 0 && this.includes(classId))
  }

  constructorsOf(classId: number): readonly number[] {
    return this.graph.methodsOf(classId).filter((method) => this.nameOf(method) === '<init>')
  }

  methodsNamed(name: number): readonly number[] {
    const found: number[] = []
    this.#index.methodsByName().forEachOf(name, (classId, row) => {
      if (this.includes(classId)) found.push(this.graph.firstMethodOf(this.#index.sliceOf(classId)) + row)
    })
    return found
  }

  /** Returns the types that a method's code uses in any way, as ids of names. */
  typesIn(method: number): readonly number[] {
    const { slice, row } = this.graph.placeOf(method)
    const uses = this.#uses.get(slice)
    if (uses === undefined) return []
    return Array.from(uses.types.subarray(uses.firstType[row], uses.firstType[row + 1]), (each) => each >> 2)
  }

  /** Returns the fields that a method's code uses, as ids of `pools.fields` × 2 + whether they are read. */
  fieldsIn(method: number): Int32Array {
    const { slice, row } = this.graph.placeOf(method)
    const uses = this.#uses.get(slice)
    return uses?.fields.subarray(uses.firstField[row], uses.firstField[row + 1]) ?? new Int32Array()
  }

  classOf(method: number): number {
    return this.#classOf[method] ?? -1
  }

  siteOf(site: number): Site {
    const key = this.pools.sites.get(site)
    const receiver = Math.floor(key / LIMIT)
    const signature = this.pools.signatures.get(key - receiver * LIMIT)
    return { ...partsOfReceiver(receiver), signature }
  }

  targetOf(site: number): number {
    const { owner, signature } = this.siteOf(site)
    const classId = this.#index.findByNameId(owner)
    // A class outside does not inherit from one inside.
    if (classId === undefined || !this.includes(classId)) return -1
    return this.resolve(classId, signature)
  }

  receiverOf(site: number): number {
    const { owner, isDispatched } = this.siteOf(site)
    if (!isDispatched || this.#isAbove[owner] !== 1) return -1
    const target = this.targetOf(site)
    const isExact = target >= 0 && (this.graph.flagsOf(target) & (ACC.STATIC | ACC.PRIVATE | ACC.FINAL)) !== 0
    return isExact ? -1 : owner
  }

  implementationOf(site: number, classId: number): number {
    return this.resolve(classId, this.siteOf(site).signature)
  }

  *forEachSubtype(type: number, use: (classId: number) => void): Generator<void, void> {
    const seen = new Set([type])
    // A set's iteration includes what is added meanwhile.
    for (const each of seen) {
      yield
      const classId = this.#index.findByNameId(each)
      if (classId !== undefined && this.includes(classId)) use(classId)
      for (const subtype of directSubtypes(this.#snapshot, each)) {
        const name = this.#index.nameIdOf(subtype)
        if (this.#isAbove[name] === 1) seen.add(name)
      }
    }
  }

  supertypesOf(classId: number): Iterable<number> {
    const name = this.#index.nameIdOf(classId)
    return [name, ...allSupertypes(this.#snapshot, name)]
  }

  parentsOf(classId: number): readonly number[] {
    const { superclass, interfaces } = supertypesOf(this.#snapshot, classId)
    return [...(superclass === undefined ? [] : [superclass]), ...interfaces]
      .map((name) => this.#index.findByNameId(name) ?? -1)
      .filter((parent) => parent >= 0 && this.includes(parent))
  }

  initializerOf(classId: number): number {
    return this.#initializers.get(classId) ?? -1
  }

  callbacksOf(classId: number): Generator<void, readonly number[]> {
    return this.callbacks.of(classId)
  }

  /** Returns a method's name. */
  nameOf(method: number): string {
    const { slice, row } = this.graph.placeOf(method)
    return this.#index.names.get(slice.digest.methods.name[row] ?? -1)
  }

  isConstructor(signature: number): boolean {
    return this.#index.names.get(partsOf(signature).name).startsWith('<')
  }

  /** Returns a class and its superclasses in scope. */
  chainOf(classId: number): readonly number[] {
    const chain: number[] = []
    for (let each = classId; each >= 0; each = this.#superOf[each] ?? -1) chain.push(each)
    return chain
  }

  /** Makes the superclasses of each class end. Class files can form a cycle (threat A5). */
  *#cutCycles(): Generator<void, void> {
    const walkOf = new Int32Array(this.classCount).fill(-1)
    for (let start = 0; start < this.classCount; start++) {
      if (start % 256 === 0) yield
      for (let each = start; walkOf[each] === -1;) {
        walkOf[each] = start
        const next = this.#superOf[each] ?? -1
        if (next >= 0 && walkOf[next] === start) this.#superOf[each] = -1
        else if (next >= 0) each = next
      }
    }
  }

  /** Resolves a method as `CallGraph.resolve` does. @returns -1 if it is outside */
  resolve(classId: number, signature: number): number {
    const id = this.pools.signatures.find(signature)
    if (id < 0) return -1
    for (let each = classId; each >= 0; each = this.#superOf[each] ?? -1) {
      const found = this.#declared.find(each * LIMIT + id)
      if (found >= 0) return this.#declaredMethods[found] ?? -1
    }
    if (this.#isOfInterface[id] !== 1 || this.isConstructor(signature)) return -1
    const { name, descriptor } = partsOf(signature)
    const method = this.graph.resolve(this.#index.nameIdOf(classId), name, descriptor) ?? -1
    return this.classOf(method) < 0 ? -1 : method
  }

  *#addMethods(slice: IndexedSlice): Generator<void, void> {
    const { classes, methods } = slice.digest
    const firstMethod = this.graph.firstMethodOf(slice)
    const initializer = this.#index.names.find('<clinit>')
    for (let row = 0; row < classes.count; row++) {
      const classId = slice.firstClass + row
      yield
      if (this.#index.isHidden(classId)) continue
      this.#addAbove(classId)
      const superclass = this.#index.findByNameId(classes.superName[row] ?? -1)
      if (superclass !== undefined && this.includes(superclass)) this.#superOf[classId] = superclass
      const isInterface = ((classes.accessFlags[row] ?? 0) & ACC.INTERFACE) !== 0
      for (let at = classes.firstMethod[row] ?? 0; at < (classes.firstMethod[row + 1] ?? 0); at++) {
        const method = firstMethod + at
        const id = this.pools.signatures.idOf(this.graph.signatureOf(method))
        this.#classOf[method] = classId
        const declared = this.#declared.idOf(classId * LIMIT + id)
        this.#declaredMethods[declared] ??= method
        if (isInterface) this.#addOfInterface(id)
        if (methods.name[at] === initializer) this.#initializers.set(classId, method)
      }
    }
  }

  #addPackage(classId: number): void {
    const name = this.#index.nameOf(classId)
    if (name.endsWith('/package-info')) this.#packages.set(name.slice(0, name.lastIndexOf('/') + 1), classId)
  }

  #addOfInterface(signature: number): void {
    if (signature >= this.#isOfInterface.length) {
      const larger = new Uint8Array(2 * signature + 256)
      larger.set(this.#isOfInterface)
      this.#isOfInterface = larger
    }
    this.#isOfInterface[signature] = 1
  }

  #addAbove(classId: number): void {
    const open = [this.#index.nameIdOf(classId)]
    for (let name = open.pop(); name !== undefined; name = open.pop()) {
      if (this.#isAbove[name] === 1) continue
      this.#isAbove[name] = 1
      const id = this.#index.findByNameId(name)
      if (id === undefined) continue
      const { superclass, interfaces } = supertypesOf(this.#snapshot, id)
      open.push(...interfaces, ...(superclass === undefined ? [] : [superclass]))
    }
  }
}

interface ReadCode {
  readonly code: ProjectCode
  readonly timer: NodeJS.Timeout
}

const codes = new WeakMap<ProjectIndex, Map<boolean, ReadCode>>()

/** Returns the code of a snapshot, which is kept between queries that follow each other. */
export function* projectCodeOf(snapshot: Snapshot, includeLibraries: boolean): Generator<void, ProjectCode> {
  const known = codes.get(snapshot.index) ?? new Map<boolean, ReadCode>()
  codes.set(snapshot.index, known)
  clearTimeout(known.get(includeLibraries)?.timer)
  const code = known.get(includeLibraries)?.code ?? (yield* ProjectCode.read(snapshot, includeLibraries))
  const timer = setTimeout(() => known.delete(includeLibraries), IDLE_MS).unref()
  known.set(includeLibraries, { code, timer })
  return code
}
