import { ACC } from '../bytecode/access-flags.ts'
import { type Facts, rows } from '../bytecode/facts.ts'
import { WrittenMethods } from '../bytecode/written-methods.ts'
import { lowerBound } from '../index/lower-bound.ts'
import type { ProjectIndex } from '../index/project-index.ts'
import { lineOf } from './names.ts'
import type { Snapshot } from './snapshot.ts'

/** The class itself as the place of code. */
export const CLASS_ITSELF = -1

/** More places than a compiler's method or class has: the code then counts for the class. */
const MAX_PLACES = 256
/** More than a compiler nests. */
const MAX_FOLLOWED = 1_000
const MAX_PASSED_ON = 16

/** Where code counts. */
export interface Place {
  readonly classId: number
  /** Row of the method in the slice's facts, or CLASS_ITSELF. */
  readonly method: number
  /** Whether the code is in the body of a lambda. */
  readonly isInLambda: boolean
  /** Line that uses the code if it is in another class, which has other lines. */
  readonly line?: number | null
}

/** Says for which code that a person wrote each class and method counts. */
export interface Attribution {
  /** Whether a method is not written: an answer does not name it. */
  isMade(classId: number, method: number): boolean
  /** Returns where a method's code counts; nowhere if it repeats other code. */
  placesOf(classId: number, method: number): readonly Place[]
  /** Whether a method only passes its call on to the one that it stands for, as a bridge does. */
  isAlias(classId: number, method: number): boolean
  /** Whether a call only passes on that of the method that contains it, as in a bridge. */
  isDelegation(classId: number, method: number, call: number): boolean
  /** Returns the class that a class counts for. */
  classOf(classId: number): number
  /** Returns the classes that count for a class, itself first. */
  partsOf(classId: number): readonly number[]
  /** Returns a class and those in which a compiler put code that can count for it. */
  madeNear(classId: number): readonly number[]
  /** Returns the written method or field that a called one stands for, itself if it is written. */
  calledAs(called: Called): Called
  /**
   * Whether a digest counts code of a class differently: code that counts for others, or for none.
   *
   * @param name id of the name of the called method; undefined for all uses
   */
  isCountedElsewhere(classId: number, name?: number): boolean
}

/** A member that code names; `owner` is the internal name of its class. */
export interface Called {
  readonly owner: string
  readonly name: string
  readonly descriptor: string
}

/** Takes every class and method as it was compiled. */
export const AS_COMPILED: Attribution = {
  isMade: () => false,
  placesOf: (classId, method) => [{ classId, method, isInLambda: false }],
  isAlias: () => false,
  isDelegation: () => false,
  classOf: (classId) => classId,
  partsOf: (classId) => [classId],
  madeNear: (classId) => [classId],
  calledAs: (called) => called,
  isCountedElsewhere: () => false,
}

/** A use of a compiler's class or method. */
interface Use {
  readonly classId: number
  readonly method: number
  readonly line: number | null
}

/** Uses of the compiler's code in a top-level class and those nested in it, by class, or by class and method. */
type Nest = ReadonlyMap<string, readonly Use[]>

/**
 * Code that a person wrote. What a compiler made, which is marked with ACC_SYNTHETIC, counts for it: a
 * method for the one that it belongs to, or else for those that use it, and a class for the one around it.
 * Everything is read when it is first needed.
 */
export class WrittenCode implements Attribution {
  readonly #snapshot: Snapshot
  readonly #index: ProjectIndex
  readonly #nests = new Map<string, Nest>()
  readonly #places = new Map<string, readonly Place[]>()
  readonly #classes = new Map<number, number>()
  /** Flags of the compiler's methods by name, by class. */
  readonly #made = new Map<number, ReadonlyMap<number, number>>()
  readonly #madeMethodsOf = new Map<number, ReadonlyMap<string, number>>()
  /** Whether names of methods are those of lambdas, whose code counts in the same class. */
  readonly #lambdas = new Map<number, boolean>()

  private constructor(snapshot: Snapshot) {
    this.#snapshot = snapshot
    this.#index = snapshot.index
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
    if (!this.#index.isMade(classId)) {
      if (method < 0) return [{ classId, method, isInLambda: false }]
      const own = this.#methodsOf(classId)
      const holder = own.holderOf(method)
      if (holder >= 0) return [{ classId, method: holder, isInLambda: own.isLambdaBody(method) }]
      if (own.isRepeated(method)) return []
    }
    const key = `${classId} ${method}`
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
    const all = this.#nested(topLevelOf(this.#index.nameOf(classId)))
    return [classId, ...all.filter((id) => id !== classId && this.#index.isMade(id))]
  }

  isCountedElsewhere(classId: number, name?: number): boolean {
    if (this.#index.isMade(classId)) return true
    for (const [own, flags] of this.#madeIn(classId)) {
      if (this.#isLambda(own)) continue
      // A bridge only calls a method of its own name.
      if (name === undefined || own === name || (flags & ACC.BRIDGE) === 0) return true
    }
    return false
  }

  calledAs(called: Called): Called {
    let at = called
    for (let steps = 0; steps < MAX_PASSED_ON; steps++) {
      const next = this.#standsFor(at)
      if (next === undefined) return at
      at = next
    }
    return called
  }

  /** Returns what a compiler's method calls or accesses; undefined for a written member. */
  #standsFor(called: Called): Called | undefined {
    const { owner, name, descriptor } = called
    const classId = this.#index.find(owner)
    if (classId === undefined) return undefined
    if (!descriptor.startsWith('(')) return this.#variableOf(classId, called)
    if (!this.#madeIn(classId).has(this.#index.names.find(name) ?? -1)) return undefined
    const method = this.#madeMethods(classId).get(`${name} ${descriptor}`)
    if (method === undefined) return undefined
    const { facts } = this.#read(classId)
    const { methods, calls, fieldAccesses, strings } = facts
    const own = this.#methodsOf(classId)
    const memberAt = (table: typeof calls | typeof fieldAccesses, at: number): Called => ({
      owner: strings.get(table.owner[at] ?? 0),
      name: strings.get(table.name[at] ?? 0),
      descriptor: strings.get(table.descriptor[at] ?? 0),
    })
    const ownCalls = rows(methods.firstCall, method)
    const passedOn = ownCalls.find((call) => own.isDelegation(method, call)) ?? ownCalls[0]
    if (passedOn !== undefined) return memberAt(calls, passedOn)
    const [accessed] = rows(methods.firstFieldAccess, method)
    if (accessed !== undefined) return memberAt(fieldAccesses, accessed)
    const holder = own.holderOf(method)
    if (holder < 0 || holder === method) return undefined
    return {
      owner,
      name: strings.get(methods.name[holder] ?? 0),
      descriptor: strings.get(methods.descriptor[holder] ?? 0),
    }
  }

  /** Returns the variable for which a compiler made a field; undefined for a written one. */
  #variableOf(classId: number, { owner, name, descriptor }: Called): Called | undefined {
    if (!name.includes('$')) return undefined
    const { facts, row } = this.#read(classId)
    const { classes, fields, strings } = facts
    const field = rows(classes.firstField, row).find(
      (each) => strings.get(fields.name[each] ?? 0) === name,
    )
    if (field === undefined || ((fields.accessFlags[field] ?? 0) & ACC.SYNTHETIC) === 0) return undefined
    return { owner, name: /^val\$(.+)$/.exec(name)?.[1] ?? 'this', descriptor }
  }

  /** Returns the flags of the compiler's methods of a class by their name, from its digest. */
  #madeIn(classId: number): ReadonlyMap<number, number> {
    let found = this.#made.get(classId)
    if (found === undefined) this.#made.set(classId, (found = this.#readMade(classId)))
    return found
  }

  #readMade(classId: number): ReadonlyMap<number, number> {
    const { digest, firstClass } = this.#index.sliceOf(classId)
    const { classes, methods } = digest
    const row = classId - firstClass
    const found = new Map<number, number>()
    const end = classes.firstMethod[row + 1] ?? 0
    for (let at = classes.firstMethod[row] ?? 0; at < end; at++) {
      const flags = methods.accessFlags[at] ?? 0
      if ((flags & ACC.SYNTHETIC) !== 0) found.set(methods.name[at] ?? -1, flags)
    }
    return found
  }

  #isLambda(name: number): boolean {
    let found = this.#lambdas.get(name)
    if (found === undefined)
      this.#lambdas.set(name, (found = this.#index.names.get(name).startsWith('lambda$')))
    return found
  }

  /** Returns the places of the code that uses a compiler's method or class, or else the class around it. */
  #findUsers(classId: number, method: number): readonly Place[] {
    const found = new Map<string, Place>()
    const seen = new Set<string>()
    const open: Use[] = [{ classId, method, line: null }]
    const around = [{ classId: this.classOf(classId), method: CLASS_ITSELF, isInLambda: false }]
    for (const each of open) {
      if (seen.size > MAX_FOLLOWED || found.size > MAX_PLACES) return around
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
      seen.add(key)
      const enclosing = isClassMade ? this.#enclosingMethod(each.classId) : undefined
      const uses = enclosing === undefined ? this.#nestOf(each.classId).get(key) : [enclosing]
      // The lines of a class's methods are those of the source file, as are those of its users.
      for (const use of uses ?? []) open.push(isClassMade ? { ...use, line: each.line } : use)
    }
    return found.size === 0 ? around : [...found.values()]
  }

  /** Returns the method in which a class is, from EnclosingMethod. */
  #enclosingMethod(classId: number): Use | undefined {
    const { facts, row } = this.#read(classId)
    const { classes, strings } = facts
    const text = (id = -1): string | undefined => (id < 0 ? undefined : strings.get(id))
    const outer = this.#index.find(text(classes.enclosingClass[row]) ?? '')
    const [name, descriptor] = [text(classes.enclosingMethod[row]), text(classes.enclosingDescriptor[row])]
    if (outer === undefined || outer === classId || name === undefined || descriptor === undefined)
      return undefined
    const { facts: around, row: outerRow } = this.#read(outer)
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
    const { facts, row } = this.#read(classId)
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
    if (nest === undefined) this.#nests.set(name, (nest = this.#readNest(this.#nested(name))))
    return nest
  }

  /** Returns the class of a name and those whose names extend it. */
  #nested(name: string): readonly number[] {
    const all = this.#index.byName()
    const found: number[] = []
    const first = lowerBound(0, all.length, (at) => this.#index.nameOf(all[at] ?? 0) < name)
    for (let at = first; at < all.length; at++) {
      const each = this.#index.nameOf(all[at] ?? 0)
      if (!each.startsWith(name)) break
      if (each.length === name.length || each[name.length] === '$') found.push(all[at] ?? 0)
    }
    return found
  }

  #readNest(classIds: readonly number[]): Nest {
    const byName = new Map(classIds.map((id) => [this.#index.nameOf(id), id]))
    const madeMethods = new Map(classIds.map((id) => [id, this.#madeMethods(id)]))
    const nest = new Map<string, Use[]>()
    const add = (key: string, use: Use): void => {
      const others = nest.get(key)
      if (others === undefined) nest.set(key, [use])
      else others.push(use)
    }
    for (const classId of classIds) {
      const { facts, row } = this.#read(classId)
      const { classes, methods, calls, dynamicCalls, fieldAccesses, typeReferences, strings } = facts
      const own = this.#methodsOf(classId)
      const targets = new Map<number, number>()
      const targetOf = (name = -1): number => {
        let target = targets.get(name)
        if (target === undefined)
          targets.set(name, (target = name < 0 ? -1 : (byName.get(strings.get(name)) ?? -1)))
        return target
      }
      for (const method of rows(classes.firstMethod, row)) {
        if (own.isRepeated(method)) continue
        const use = (owner: number | undefined, line: number | undefined, name = -1, descriptor = -1): void => {
          const target = targetOf(owner)
          if (target < 0) return
          const found = { classId, method, line: lineOf(line) }
          if (this.#index.isMade(target)) {
            if (target !== classId) add(`${target}`, found)
            return
          }
          const made = madeMethods.get(target)
          if (made === undefined || made.size === 0 || name < 0) return
          const called = made.get(`${strings.get(name)} ${strings.get(descriptor)}`)
          if (called !== undefined) add(`${target} ${called}`, found)
        }
        for (const at of rows(methods.firstCall, method))
          use(calls.owner[at], calls.line[at], calls.name[at], calls.descriptor[at])
        for (const at of rows(methods.firstDynamicCall, method)) {
          const { handleOwner, handleName, handleDescriptor, line } = dynamicCalls
          use(handleOwner[at], line[at], handleName[at], handleDescriptor[at])
        }
        for (const at of rows(methods.firstFieldAccess, method))
          use(fieldAccesses.owner[at], fieldAccesses.line[at])
        for (const at of rows(methods.firstTypeReference, method))
          use(typeReferences.name[at], typeReferences.line[at])
      }
    }
    return nest
  }

  /** Returns the compiler's methods of a class by name and descriptor. */
  #madeMethods(classId: number): ReadonlyMap<string, number> {
    let found = this.#madeMethodsOf.get(classId)
    if (found !== undefined) return found
    const { facts, row } = this.#read(classId)
    const { classes, methods, strings } = facts
    const own = this.#methodsOf(classId)
    found = new Map(
      rows(classes.firstMethod, row)
        .filter((method) => own.isMade(method))
        .map((method) => [
          `${strings.get(methods.name[method] ?? 0)} ${strings.get(methods.descriptor[method] ?? 0)}`,
          method,
        ]),
    )
    this.#madeMethodsOf.set(classId, found)
    return found
  }

  #methodsOf(classId: number): WrittenMethods {
    const { facts, row } = this.#read(classId)
    return WrittenMethods.of(facts, row)
  }

  #read(classId: number): { readonly facts: Facts; readonly row: number } {
    const slice = this.#index.sliceOf(classId)
    return { facts: this.#snapshot.facts(slice), row: classId - slice.firstClass }
  }
}

const codes = new WeakMap<Snapshot, WrittenCode>()

/** Returns the internal name of the top-level class around a class, by its name. */
function topLevelOf(name: string): string {
  // The first letter of a name can be "$".
  const dollar = name.indexOf('$', name.lastIndexOf('/') + 2)
  return dollar < 0 ? name : name.slice(0, dollar)
}
