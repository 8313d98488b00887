import { rows } from '../../bytecode/facts.ts'
import type { WrittenMethods } from '../../bytecode/written-methods.ts'
import type { ProjectIndex } from '../../index/project-index.ts'
import type { Snapshot } from '../snapshot.ts'
import { type Attribution, type Called, CLASS_ITSELF, type Place } from './attribution.ts'
import { CompiledCode } from './compiled-code.ts'
import { CountedCode } from './counted-code.ts'
import { type Nest, nestedClasses, readNest, topLevelOf, type Use } from './nest.ts'
import { StandIns } from './stand-ins.ts'

/** More places than a compiler's method or class has: the code then counts for the class. */
const MAX_PLACES = 256
/** More than a compiler nests. */
const MAX_FOLLOWED = 64

/**
 * Code that a person wrote. What a compiler made, which is marked with ACC_SYNTHETIC, counts for it: a
 * method for the one that it belongs to, or else for those that use it, and a class for the one around it.
 * Everything is read when it is first needed.
 */
export class WrittenCode implements Attribution {
  readonly #index: ProjectIndex
  readonly #compiled: CompiledCode
  readonly #counted: CountedCode
  readonly #standIns: StandIns
  readonly #nests = new Map<string, Nest>()
  readonly #places = new Map<string, readonly Place[]>()
  readonly #classes = new Map<number, number>()

  private constructor(snapshot: Snapshot) {
    this.#index = snapshot.index
    this.#compiled = new CompiledCode(snapshot)
    this.#counted = new CountedCode(this.#compiled)
    this.#standIns = new StandIns(this.#compiled)
  }

  /** Returns the written code of a snapshot, which is kept with it. */
  static of(snapshot: Snapshot): WrittenCode {
    let found = codes.get(snapshot)
    if (found === undefined) codes.set(snapshot, (found = new WrittenCode(snapshot)))
    return found
  }

  isMade(classId: number, method: number): boolean {
    return this.#index.isMade(classId) || (method >= 0 && this.#methodsOf(classId).isMade(method))
  }

  isAlias(classId: number, method: number): boolean {
    return !this.#index.isMade(classId) && this.#methodsOf(classId).isAlias(method)
  }

  isDelegation(classId: number, method: number, call: number): boolean {
    return this.#methodsOf(classId).isDelegation(method, call)
  }

  placesOf(classId: number, method: number): readonly Place[] {
    const isClassMade = this.#index.isMade(classId)
    if (!isClassMade) {
      if (method < 0) return [{ classId, method, isInLambda: false }]
      const own = this.#methodsOf(classId)
      const holder = own.holderOf(method)
      if (holder >= 0) return [{ classId, method: holder, isInLambda: own.isLambdaBody(method) }]
      if (own.isRepeated(method)) return []
    }
    const key = isClassMade ? `${classId}` : `${classId} ${method}`
    let found = this.#places.get(key)
    if (found === undefined) this.#places.set(key, (found = this.#findUsers(classId, method)))
    return found
  }

  classOf(classId: number): number {
    let found = this.#classes.get(classId)
    if (found === undefined) {
      found = this.#index.isMade(classId) ? this.#classAround(classId) : classId
      this.#classes.set(classId, found)
    }
    return found
  }

  partsOf(classId: number): readonly number[] {
    return this.madeNear(classId).filter((id) => this.classOf(id) === classId)
  }

  madeNear(classId: number): readonly number[] {
    const all = nestedClasses(this.#index, topLevelOf(this.#index.nameOf(classId)))
    return [classId, ...all.filter((id) => id !== classId && this.#index.isMade(id))]
  }

  calledAs(called: Called): Called {
    return this.#standIns.calledAs(called)
  }

  isCallCountedElsewhere(classId: number, name: number): boolean {
    return this.#counted.isCallCountedElsewhere(classId, name)
  }

  isUseCountedElsewhere(classId: number, type: number, isCopied: boolean): boolean {
    return this.#counted.isUseCountedElsewhere(classId, type, isCopied)
  }

  /** Whether code of a class counts for others. */
  hasMoved(classId: number): boolean {
    return this.#counted.hasMoved(classId)
  }

  /**
   * Whether a class has a bridge for a method that another declares.
   *
   * @param owner id of the name of the other class
   */
  hasBridge(classId: number, owner: number, name: string): boolean {
    return this.#standIns.hasBridge(classId, owner, name)
  }

  /** Returns the places of the code that uses a compiler's method or class, or else the class around it. */
  #findUsers(classId: number, method: number): readonly Place[] {
    const found = new Map<string, Place>()
    /** Classes of the followed methods and classes, by their keys. */
    const seen = new Map<string, number>()
    const open: Use[] = [{ classId, method, line: null }]
    for (const each of open) {
      if (seen.size > MAX_FOLLOWED || found.size > MAX_PLACES) return this.#around(seen, classId)
      const isClassMade = this.#index.isMade(each.classId)
      const own = this.#methodsOf(each.classId)
      const holder = isClassMade || each.method < 0 ? -1 : own.holderOf(each.method)
      if (holder >= 0) {
        const place = { classId: each.classId, method: holder, isInLambda: own.isLambdaBody(each.method) }
        const key = `${place.classId} ${holder} ${each.line}`
        if (!found.has(key)) found.set(key, each.line === null ? place : { ...place, line: each.line })
        continue
      }
      const key = isClassMade ? `${each.classId}` : `${each.classId} ${each.method}`
      if (seen.has(key)) continue
      seen.set(key, each.classId)
      const enclosing = isClassMade ? this.#enclosingMethod(each.classId) : undefined
      const uses = enclosing === undefined ? this.#nestOf(each.classId).get(key) : [enclosing]
      // The lines of a class's methods are those of the source file, as are those of its users.
      for (const use of uses ?? []) open.push(isClassMade ? { ...use, line: each.line } : use)
    }
    return found.size === 0 ? this.#around(seen, classId) : [...found.values()]
  }

  /** Makes code of which no written user was found count for the class around it. */
  #around(seen: ReadonlyMap<string, number>, classId: number): readonly Place[] {
    const placeIn = (id: number): readonly Place[] => [
      { classId: this.classOf(id), method: CLASS_ITSELF, isInLambda: false },
    ]
    // These are not followed again: class files can have any number of such methods.
    for (const [key, id] of seen) if (!this.#places.has(key)) this.#places.set(key, placeIn(id))
    return placeIn(classId)
  }

  /** Returns the method in which a class is, from EnclosingMethod. */
  #enclosingMethod(classId: number): Use | undefined {
    const { facts, row } = this.#compiled.read(classId)
    const { classes, strings } = facts
    const text = (id = -1): string | undefined => (id < 0 ? undefined : strings.get(id))
    const outer = this.#index.find(text(classes.enclosingClass[row]) ?? '')
    const [name, descriptor] = [text(classes.enclosingMethod[row]), text(classes.enclosingDescriptor[row])]
    if (outer === undefined || outer === classId || name === undefined || descriptor === undefined)
      return undefined
    const { facts: around, row: outerRow } = this.#compiled.read(outer)
    const method = rows(around.classes.firstMethod, outerRow).find(
      (each) =>
        around.strings.get(around.methods.name[each] ?? 0) === name &&
        around.strings.get(around.methods.descriptor[each] ?? 0) === descriptor,
    )
    return method === undefined ? undefined : { classId: outer, method, line: null }
  }

  /** Returns the written class around a compiler's: from its attributes, or else by its name. */
  #classAround(classId: number): number {
    const seen = new Set<number>()
    for (let at: number | undefined = classId; at !== undefined && !seen.has(at); at = this.#outerOf(at)) {
      if (!this.#index.isMade(at)) return at
      seen.add(at)
    }
    const name = this.#index.nameOf(classId)
    for (let at = name.lastIndexOf('$'); at > 0; at = name.lastIndexOf('$', at - 1)) {
      const outer = this.#index.find(name.slice(0, at))
      if (outer !== undefined && !this.#index.isMade(outer)) return outer
    }
    return classId
  }

  #outerOf(classId: number): number | undefined {
    const { facts, row } = this.#compiled.read(classId)
    const { enclosingClass, outerClass, nestHost } = facts.classes
    for (const { [row]: name = -1 } of [enclosingClass, outerClass, nestHost]) {
      const outer = name < 0 ? undefined : this.#index.find(facts.strings.get(name))
      if (outer !== undefined && outer !== classId) return outer
    }
    return undefined
  }

  #nestOf(classId: number): Nest {
    const name = topLevelOf(this.#index.nameOf(classId))
    let nest = this.#nests.get(name)
    if (nest === undefined)
      this.#nests.set(name, (nest = readNest(this.#compiled, nestedClasses(this.#index, name))))
    return nest
  }

  #methodsOf(classId: number): WrittenMethods {
    return this.#compiled.methodsOf(classId)
  }
}

const codes = new WeakMap<Snapshot, WrittenCode>()
