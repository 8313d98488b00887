import { rows } from '../../bytecode/facts.ts'
import type { WrittenMethods } from '../../bytecode/written-methods.ts'
import type { ProjectIndex } from '../../index/project-index.ts'
import type { ReferenceKind } from '../../choices.ts'
import type { Snapshot } from '../snapshot.ts'
import { type Attribution, type Called, CLASS_ITSELF, NOWHERE, type Place } from './attribution.ts'
import { CompiledCode } from './compiled-code.ts'
import { CountedCode } from './counted-code.ts'
import { type Nest, nestedClasses, readNest, topLevelOf, type Use } from './nest.ts'
import { StandIns } from './stand-ins.ts'

/** Names of fields that javac and Kotlin put into a class for code of others: arrays for switches, and for assertions. */
const HELPERS = /^\$(?:SwitchMap\$|EnumSwitchMapping\$|assertionsDisabled$)/

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
  readonly #helpers = new Map<number, boolean>()
  /** The compiler's classes, by the written class around them. */
  #madeAround: ReadonlyMap<number, readonly number[]> | undefined
  /** Classes with code that can count for others, by their top-level class. */
  readonly #sharing = new Map<string, readonly number[]>()

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
    return this.#index.isMade(classId) || this.#compiled.isMade(classId, method)
  }

  isAlias(classId: number, method: number): boolean {
    if (!this.#compiled.isMade(classId, method) || this.#index.isMade(classId)) return false
    return this.#methodsOf(classId).isAlias(method)
  }

  isDelegation(classId: number, method: number, call: number): boolean {
    return this.#compiled.isMade(classId, method) && this.#methodsOf(classId).isDelegation(method, call)
  }

  placesOf(classId: number, method: number): readonly Place[] {
    const isClassMade = this.#index.isMade(classId)
    if (isClassMade && this.#isHelper(classId)) return []
    if (!isClassMade) {
      if (!this.#compiled.isMade(classId, method)) return [{ classId, method, isInLambda: false }]
      const own = this.#methodsOf(classId)
      const holders = own.holdersOf(method)
      const isInLambda = own.isLambdaBody(method)
      if (holders.length > 0) return holders.map((holder) => ({ classId, method: holder, isInLambda }))
      if (own.isRepeated(method)) return []
      // Nobody wrote a bridge to the method of another class, but it is a member of this one.
      if (own.isAlias(method)) return [{ classId, method: CLASS_ITSELF, isInLambda: false }]
    }
    const key = isClassMade ? `${classId}` : `${classId} ${method}`
    let found = this.#places.get(key)
    if (found === undefined) this.#places.set(key, (found = this.#findUsers(classId, method)))
    return found
  }

  classOf(classId: number): number {
    if (!this.#index.isMade(classId)) return classId
    return this.#isHelper(classId) ? NOWHERE : (this.#index.classAround(classId) ?? classId)
  }

  partsOf(classId: number): readonly number[] {
    const around = this.#classesAround().get(classId) ?? []
    return [classId, ...around.filter((id) => this.classOf(id) === classId)]
  }

  sharersFor(classId: number): readonly number[] {
    const name = topLevelOf(this.#index.nameOf(classId))
    let found = this.#sharing.get(name)
    if (found === undefined) {
      const all = nestedClasses(this.#index, name)
      found = all.filter((id) => this.#index.isMade(id) || this.isShared(id))
      this.#sharing.set(name, found)
    }
    return [classId, ...found.filter((id) => id !== classId)]
  }

  #classesAround(): ReadonlyMap<number, readonly number[]> {
    this.#madeAround ??= Map.groupBy(
      this.#index.byName().filter((id) => this.#index.isMade(id)),
      (id) => this.#index.classAround(id) ?? id,
    )
    return this.#madeAround
  }

  calledAs(called: Called): Called {
    return this.#standIns.calledAs(called)
  }

  isCallCountedElsewhere(classId: number, name: number): boolean {
    return this.#counted.isCallCountedElsewhere(classId, name)
  }

  isUseCountedElsewhere(classId: number, type: number, kind: ReferenceKind): boolean {
    return this.#counted.isUseCountedElsewhere(classId, type, kind)
  }

  isUseShared(classId: number, type: number, kind: ReferenceKind): boolean {
    return this.#counted.isUseShared(classId, type, kind)
  }

  /** Whether code of a class counts for others. */
  isShared(classId: number): boolean {
    return this.#counted.isShared(classId)
  }

  /** Whether a compiler's class only helps the code of others: nobody uses a constant by an array for switches. */
  #isHelper(classId: number): boolean {
    let found = this.#helpers.get(classId)
    if (found === undefined) {
      const { facts, row } = this.#compiled.read(classId)
      const { classes, fields, strings } = facts
      const names = rows(classes.firstField, row).map((field) => strings.get(fields.name[field] ?? 0))
      this.#helpers.set(classId, (found = names.some((name) => HELPERS.test(name))))
    }
    return found
  }

  /** Returns the places of the code that uses a compiler's method or class, or else the class around it. */
  #findUsers(classId: number, method: number): readonly Place[] {
    const nest = this.#nestOf(classId)
    const size = this.#compiled.sizeOf(classId, method)
    const found: Place[] = []
    /** Written methods that use a compiler's class: its code is there once. */
    const ofClass = new Set<string>()
    /** Classes of the followed methods and classes, by their keys. */
    const seen = new Map<string, number>()
    const open: (Use & { readonly isOfClass?: boolean })[] = [{ classId, method, line: null }]
    for (const each of open) {
      if (nest.left-- <= 0) return this.#around(seen, classId)
      const isClassMade = this.#index.isMade(each.classId)
      const own = this.#methodsOf(each.classId)
      const holders = isClassMade || each.method < 0 ? [] : own.holdersOf(each.method)
      for (const holder of holders) {
        const place = { classId: each.classId, method: holder, isInLambda: own.isLambdaBody(each.method) }
        const key = `${place.classId} ${holder}`
        if (each.isOfClass === true && ofClass.has(key)) continue
        if (each.isOfClass === true) ofClass.add(key)
        found.push(each.line === null ? place : { ...place, line: each.line })
        nest.left -= size
      }
      if (holders.length > 0) continue
      const key = isClassMade ? `${each.classId}` : `${each.classId} ${each.method}`
      if (seen.has(key)) continue
      seen.set(key, each.classId)
      const enclosing = isClassMade ? this.#enclosingMethod(each.classId) : undefined
      const uses = enclosing === undefined ? this.#nestOf(each.classId).uses.get(key) : [enclosing]
      // The lines of a class's methods are those of the source file, as are those of its users.
      for (const use of uses ?? [])
        open.push(isClassMade ? { ...use, line: each.line, isOfClass: true } : use)
    }
    return found.length === 0 ? this.#around(seen, classId) : found
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
