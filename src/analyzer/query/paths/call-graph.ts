import { ACC } from '../../bytecode/access-flags.ts'
import type { IndexedSlice } from '../../index/indexed-slice.ts'
import { lowerBound } from '../../index/lower-bound.ts'
import type { ProjectIndex } from '../../index/project-index.ts'
import { StringPool } from '../../index/string-pool.ts'
import type { Snapshot } from '../snapshot.ts'
import { allSupertypes, directSubtypes, supertypesOf } from '../types/subtypes.ts'
import { type CallSite, readCalls, readDescriptors, signatureOf, type SliceCalls } from './slice-calls.ts'

/** More methods than a slice has. */
const ROWS = 2 ** 24

/** A graph is dropped after so long without a query. */
const IDLE_MS = 30_000

/** A method on the class path. */
export interface MethodPlace {
  readonly slice: IndexedSlice
  /** Id of its class. */
  readonly classId: number
  /** Row in the slice's facts. */
  readonly row: number
}

/** Types on which a method can be called, as ids of names. */
export interface Receivers {
  /** The method's class, and subtypes that inherit it. */
  readonly inheriting: ReadonlySet<number>
  /** These and their supertypes: a dispatched call on one of them may reach the method. */
  readonly dispatching: ReadonlySet<number>
}

/** Slices whose calls count. */
export interface CallScope {
  readonly includeLibraries: boolean
  /** Slices that count besides those of the project. */
  readonly slices: ReadonlySet<IndexedSlice>
}

interface GraphSlice {
  readonly slice: IndexedSlice
  /** Number of its first method; the others follow in the order of its facts. */
  readonly firstMethod: number
  descriptors?: Int32Array
  calls?: SliceCalls
}

interface SliceWithCalls {
  readonly calls: SliceCalls
  readonly firstMethod: number
}

/**
 * Calls between the methods of an index by class hierarchy analysis: a call that the receiver dispatches
 * reaches the method that the named type resolves to, and those that its subtypes resolve to. Methods are
 * numbered in class path order. A slice's calls are read when they are first needed.
 */
export class CallGraph {
  readonly #snapshot: Snapshot
  /** Descriptors of all methods read so far. */
  readonly descriptors = new StringPool()
  readonly #constructorName: number | undefined
  readonly #slices: readonly GraphSlice[]
  readonly #scopes = new WeakMap<CallScope, readonly SliceWithCalls[]>()
  readonly #bySlice: ReadonlyMap<IndexedSlice, GraphSlice>

  constructor(snapshot: Snapshot) {
    let firstMethod = 0
    this.#snapshot = snapshot
    this.#constructorName = snapshot.index.names.find('<init>')
    this.#slices = snapshot.index.slices.map((slice) => {
      const before = firstMethod
      firstMethod += slice.digest.methods.count
      return { slice, firstMethod: before }
    })
    this.#bySlice = new Map(this.#slices.map((each) => [each.slice, each]))
  }

  get methodCount(): number {
    return this.#slices.reduce((sum, { slice }) => sum + slice.digest.methods.count, 0)
  }

  /** Returns the number of a slice's first method. */
  firstMethodOf(slice: IndexedSlice): number {
    return this.#bySlice.get(slice)?.firstMethod ?? -1
  }

  /** Returns the place of a method. @throws RangeError when the number is invalid */
  placeOf(method: number): MethodPlace {
    const after = lowerBound(
      0,
      this.#slices.length,
      (at) => (this.#slices[at]?.firstMethod ?? Infinity) <= method,
    )
    const found = this.#slices[after - 1]
    if (found === undefined || method - found.firstMethod >= found.slice.digest.methods.count)
      throw new RangeError(`method ${method} does not exist`)
    const { slice, firstMethod } = found
    const row = method - firstMethod
    const { classes } = slice.digest
    const next = lowerBound(0, classes.count, (at) => (classes.firstMethod[at] ?? 0) <= row)
    return { slice, classId: slice.firstClass + next - 1, row }
  }

  /** Returns a number that orders methods by the name of their class, then as in the class file. */
  orderOf(method: number): number {
    const { classId, row } = this.placeOf(method)
    return (this.#snapshot.index.ranks()[classId] ?? 0) * ROWS + row
  }

  /** Returns the methods that a class declares. */
  methodsOf(classId: number): readonly number[] {
    const { digest, firstClass } = this.#snapshot.index.sliceOf(classId)
    const { firstMethod } = digest.classes
    const start = firstMethod[classId - firstClass] ?? 0
    const end = firstMethod[classId - firstClass + 1] ?? start
    const first = this.#graphSliceOf(classId).firstMethod
    return Array.from({ length: end - start }, (_, at) => first + start + at)
  }

  /** Returns the methods that a type declares or inherits with a name, in all overloads. */
  methodsNamed(type: number, above: ReadonlySet<number>, name: number): readonly number[] {
    const found = new Set<number>()
    for (const each of [type, ...above]) {
      const id = this.#snapshot.index.findByNameId(each)
      if (id === undefined) continue
      for (const method of this.methodsOf(id)) {
        if (this.#nameOf(method) !== name) continue
        const resolved = this.resolve(type, name, this.#descriptorOf(method))
        if (resolved !== undefined) found.add(resolved)
      }
    }
    return [...found]
  }

  flagsOf(method: number): number {
    const { slice, row } = this.placeOf(method)
    return slice.digest.methods.accessFlags[row] ?? 0
  }

  /** Returns a descriptor's text. */
  descriptorText(descriptor: number): string {
    return this.descriptors.decode(descriptor)
  }

  /**
   * Resolves a method as the JVM does (JVMS §5.4.3.3): in superclasses first, then in superinterfaces, of
   * which the most specific counts. Constructors are not inherited.
   *
   * @returns its number, or undefined if it is not on the class path
   */
  resolve(type: number, name: number, descriptor: number): number | undefined {
    const chain = this.#superclasses(type)
    for (const each of chain) {
      const declared = this.#declared(each, name, descriptor)
      if (declared !== undefined || name === this.#constructorName) return declared
    }
    return this.#mostSpecific(chain, name, descriptor)
  }

  /** Returns the types on which a method can be called; yields after each subtype. */
  *receiversOf(method: number): Generator<void, Receivers> {
    const { index } = this.#snapshot
    const [name, descriptor] = [this.#nameOf(method), this.#descriptorOf(method)]
    const own = index.nameIdOf(this.placeOf(method).classId)
    const inheriting = new Set([own])
    if (name === this.#constructorName) return { inheriting, dispatching: inheriting }
    // A set's iteration includes what is added meanwhile.
    for (const type of inheriting)
      for (const subtype of directSubtypes(this.#snapshot, type)) {
        yield
        const subtypeName = index.nameIdOf(subtype)
        if (!inheriting.has(subtypeName) && this.resolve(subtypeName, name, descriptor) === method)
          inheriting.add(subtypeName)
      }
    if ((this.flagsOf(method) & (ACC.STATIC | ACC.PRIVATE)) !== 0)
      return { inheriting, dispatching: inheriting }
    const dispatching = new Set(inheriting)
    for (const type of dispatching) {
      yield
      const { superclass, interfaces } = this.#supertypes(type)
      if (superclass !== undefined) dispatching.add(superclass)
      for (const each of interfaces) dispatching.add(each)
    }
    return { inheriting, dispatching }
  }

  /** Returns the signature of a method, as in `signatureOf`. */
  signatureOf(method: number): number {
    return signatureOf(this.#nameOf(method), this.#descriptorOf(method))
  }

  /** Calls `use` with each call of a signature and the number of its caller. */
  *forEachCall(
    signature: number,
    scope: CallScope,
    use: (caller: number, call: CallSite) => void,
  ): Generator<void, void> {
    for (const { calls, firstMethod } of yield* this.#slicesWithCalls(scope))
      calls.forEachOf(signature, (call) => use(firstMethod + call.caller, call))
  }

  /** Calls `use` with each call of a method name, any if it is undefined. */
  *forEachCallOfName(
    name: number | undefined,
    scope: CallScope,
    use: (caller: number, signature: number, call: CallSite) => void,
  ): Generator<void, void> {
    for (const { calls, firstMethod } of yield* this.#slicesWithCalls(scope)) {
      yield
      calls.forEachOfName(name, (signature, call) => use(firstMethod + call.caller, signature, call))
    }
  }

  /** Returns the slices in a scope, after reading their calls. */
  *#slicesWithCalls(scope: CallScope) {
    const known = this.#scopes.get(scope)
    if (known !== undefined) return known
    const { includeLibraries, slices } = scope
    const found: SliceWithCalls[] = []
    for (const each of this.#slices) {
      const { slice, firstMethod } = each
      if (!includeLibraries && slice.source !== 'PROJECT' && !slices.has(slice)) continue
      each.calls ??= yield* this.#readCalls(slice)
      found.push({ calls: each.calls, firstMethod })
    }
    this.#scopes.set(scope, found)
    return found
  }

  #readCalls(slice: IndexedSlice): Generator<void, SliceCalls> {
    const facts = this.#snapshot.facts(slice)
    return readCalls(this.#snapshot.index, slice, facts, this.descriptors)
  }

  #graphSliceOf(classId: number): GraphSlice {
    const found = this.#bySlice.get(this.#snapshot.index.sliceOf(classId))
    if (found === undefined) throw new RangeError(`class ${classId} does not exist`)
    return found
  }

  #nameOf(method: number): number {
    const { slice, row } = this.placeOf(method)
    return slice.digest.methods.name[row] ?? -1
  }

  #descriptorOf(method: number): number {
    const { classId, row } = this.placeOf(method)
    return this.#descriptorsOf(this.#graphSliceOf(classId))[row] ?? -1
  }

  #descriptorsOf(each: GraphSlice): Int32Array {
    each.descriptors ??= readDescriptors(this.#snapshot.facts(each.slice), this.descriptors)
    return each.descriptors
  }

  #declared(type: number, name: number, descriptor: number): number | undefined {
    const classId = this.#snapshot.index.findByNameId(type)
    if (classId === undefined) return undefined
    const each = this.#graphSliceOf(classId)
    const { classes, methods } = each.slice.digest
    const row = classId - each.slice.firstClass
    for (let at = classes.firstMethod[row] ?? 0; at < (classes.firstMethod[row + 1] ?? 0); at++) {
      if (methods.name[at] !== name) continue
      if (this.#descriptorsOf(each)[at] === descriptor) return each.firstMethod + at
    }
    return undefined
  }

  /** Returns the most specific method among the superinterfaces of classes; one with code, if possible. */
  #mostSpecific(chain: readonly number[], name: number, descriptor: number): number | undefined {
    const interfaces = new Set(chain.flatMap((type) => this.#supertypes(type).interfaces))
    // A set's iteration includes what is added meanwhile.
    for (const type of interfaces) for (const each of this.#supertypes(type).interfaces) interfaces.add(each)
    const declared = [...interfaces].flatMap((type) => {
      const method = this.#declared(type, name, descriptor)
      return method === undefined ? [] : [{ type, method }]
    })
    if (declared.length < 2) return declared[0]?.method
    const isSpecific = ({ type }: { type: number }): boolean =>
      !declared.some((other) => other.type !== type && allSupertypes(this.#snapshot, other.type).has(type))
    const specific = declared.filter(isSpecific).map(({ method }) => method)
    return specific.find((method) => (this.flagsOf(method) & ACC.ABSTRACT) === 0) ?? specific[0]
  }

  /** Returns a class and its superclasses. Class files can form a cycle (threat A5). */
  #superclasses(type: number): readonly number[] {
    const chain = new Set<number>()
    for (let each: number | undefined = type; each !== undefined && !chain.has(each);) {
      chain.add(each)
      each = this.#supertypes(each).superclass
    }
    return [...chain]
  }

  #supertypes(type: number): ReturnType<typeof supertypesOf> {
    const id = this.#snapshot.index.findByNameId(type)
    return id === undefined ? { superclass: undefined, interfaces: [] } : supertypesOf(this.#snapshot, id)
  }
}

const graphs = new WeakMap<ProjectIndex, { readonly graph: CallGraph; readonly timer: NodeJS.Timeout }>()

/** Returns the call graph of a snapshot, which is kept between queries that follow each other. */
export function callGraphOf(snapshot: Snapshot): CallGraph {
  const { index } = snapshot
  const before = graphs.get(index)
  clearTimeout(before?.timer)
  const graph = before?.graph ?? new CallGraph(snapshot)
  graphs.set(index, { graph, timer: setTimeout(() => graphs.delete(index), IDLE_MS).unref() })
  return graph
}
