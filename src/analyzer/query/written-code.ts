import { ACC } from '../bytecode/access-flags.ts'
import { type Facts, rows } from '../bytecode/facts.ts'
import { WrittenMethods } from '../bytecode/written-methods.ts'
import { lowerBound } from '../index/lower-bound.ts'
import type { ProjectIndex } from '../index/project-index.ts'
import { lineOf } from './names.ts'
import type { Snapshot } from './snapshot.ts'
import { supertypesOf } from './types/subtypes.ts'

/** The class itself as the place of code. */
export const CLASS_ITSELF = -1

/** More places than a compiler's method or class has: the code then counts for the class. */
const MAX_PLACES = 256
/** More than a compiler nests. */
const MAX_FOLLOWED = 64
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

/** Maps each class and method to the code that a person wrote, for which it counts. */
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
   * Whether the digest of a class can have another number of calls of methods with a name than count for the
   * class.
   */
  isCallCountedElsewhere(classId: number, name: number): boolean
  /** Whether the same is true of uses of a type; `isCopied` for those that compilers copy to bridges. */
  isUseCountedElsewhere(classId: number, type: number, isCopied: boolean): boolean
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
  isCallCountedElsewhere: () => false,
  isUseCountedElsewhere: () => false,
}

/** Names that code uses, by their ids. */
interface Moved {
  /** Names of methods. */
  readonly names: ReadonlySet<number>
  readonly types: ReadonlySet<number>
}

const NOTHING_MOVED: Moved = { names: new Set(), types: new Set() }

/** Names of methods to which only their own class refers, or that stand for one of it. */
const ORDINARY = /^(?:lambda\$|\$values$|<init>$)|\$(?:default|annotations|lambda\$\d+)$/

function isBridge(accessFlags: number): boolean {
  return (accessFlags & ACC.BRIDGE) !== 0
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
  /** Names by whether code of methods with them counts in the same class, once. */
  readonly #ordinary = new Map<number, boolean>()
  readonly #moved = new Map<number, Moved>()
  readonly #copied = new Map<number, ReadonlySet<number>>()

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
    const all = this.#nested(topLevelOf(this.#index.nameOf(classId)))
    return [classId, ...all.filter((id) => id !== classId && this.#index.isMade(id))]
  }

  isCallCountedElsewhere(classId: number, name: number): boolean {
    if (this.#index.isMade(classId)) return true
    const made = this.#madeIn(classId)
    if (made.size === 0) return false
    if (made.has(name) || this.#movedIn(classId).names.has(name)) return true
    const withDefaults = this.#index.names.find(`${this.#index.names.get(name)}$default`)
    return withDefaults !== undefined && made.has(withDefaults)
  }

  isUseCountedElsewhere(classId: number, type: number, isCopied: boolean): boolean {
    if (this.#index.isMade(classId)) return true
    const made = this.#madeIn(classId)
    if (made.size === 0) return false
    if (isCopied) return this.#copiedIn(classId).has(type) || this.#movedIn(classId).types.has(type)
    // A bridge may call the method of a supertype.
    if (this.#isParent(classId, type) && [...made.values()].some(isBridge)) return true
    return this.#movedIn(classId).types.has(type)
  }

  /** Whether code of a class counts for others. */
  hasMoved(classId: number): boolean {
    const { names, types } = this.#movedIn(classId)
    return names.size > 0 || types.size > 0
  }

  #isParent(classId: number, type: number): boolean {
    const { superclass, interfaces } = supertypesOf(this.#snapshot, classId)
    return superclass === type || interfaces.includes(type)
  }

  /** Returns what the code of a class uses that counts for other classes, for several methods, or for none. */
  #movedIn(classId: number): Moved {
    let found = this.#moved.get(classId)
    if (found === undefined) {
      const isOrdinary = [...this.#madeIn(classId)].every(([name, flags]) => this.#isOrdinary(name, flags))
      this.#moved.set(classId, (found = isOrdinary ? NOTHING_MOVED : this.#readMoved(classId)))
    }
    return found
  }

  /** Returns the names of the exceptions and annotations of a class's bridges. */
  #copiedIn(classId: number): ReadonlySet<number> {
    let found = this.#copied.get(classId)
    if (found === undefined) {
      const hasBridge = [...this.#madeIn(classId).values()].some(isBridge)
      this.#copied.set(classId, (found = hasBridge ? this.#readCopied(classId) : NOTHING_MOVED.types))
    }
    return found
  }

  #readCopied(classId: number): ReadonlySet<number> {
    const { facts, row } = this.#read(classId)
    const { classes, methods, exceptions, annotations, strings } = facts
    const own = this.#methodsOf(classId)
    const texts = [
      ...rows(classes.firstMethod, row)
        .filter((method) => own.isMade(method))
        .flatMap((method) => rows(methods.firstException, method))
        .map((at) => exceptions.name[at] ?? -1),
      ...rows(classes.firstAnnotation, row).map((at) => annotations.type[at] ?? -1),
    ]
    return new Set(texts.map((id) => (id < 0 ? -1 : (this.#index.names.find(strings.get(id)) ?? -1))))
  }

  #readMoved(classId: number): Moved {
    const { facts, row } = this.#read(classId)
    const { classes, methods, calls, dynamicCalls, fieldAccesses, typeReferences, exceptions, strings } = facts
    const own = this.#methodsOf(classId)
    const names = new Set<number>()
    const types = new Set<number>()
    const add = (to: Set<number>, id = -1): void => {
      const text = id < 0 ? undefined : strings.get(id)
      const known = text === undefined ? undefined : this.#index.names.find(elementOf(text))
      if (known !== undefined) to.add(known)
    }
    for (const method of rows(classes.firstMethod, row)) {
      if (own.holderOf(method) >= 0) continue
      for (const at of rows(methods.firstCall, method)) {
        add(names, calls.name[at])
        add(types, calls.owner[at])
      }
      for (const at of rows(methods.firstDynamicCall, method)) {
        add(names, dynamicCalls.handleName[at])
        add(types, dynamicCalls.handleOwner[at])
        const returned = strings.get(dynamicCalls.descriptor[at] ?? 0).split(')').at(-1) ?? ''
        const lambda = this.#index.names.find(returned.replace(/^L|;$/g, ''))
        if (lambda !== undefined) types.add(lambda)
      }
      for (const at of rows(methods.firstFieldAccess, method)) add(types, fieldAccesses.owner[at])
      for (const at of rows(methods.firstTypeReference, method)) add(types, typeReferences.name[at])
      for (const at of rows(methods.firstException, method)) add(types, exceptions.name[at])
    }
    return { names, types }
  }

  /**
   * Whether a class has a bridge for a method that another declares, as a visible class has for those of an
   * invisible one.
   *
   * @param owner id of the name of the other class
   */
  hasBridge(classId: number, owner: number, name: string): boolean {
    const flags = this.#madeIn(classId).get(this.#index.names.find(name) ?? -1) ?? 0
    if ((flags & ACC.BRIDGE) === 0) return false
    const text = this.#index.names.get(owner)
    return [...this.#madeMethods(classId).keys()].some((key) => {
      const at = key.indexOf(' ')
      const called = { owner: this.#index.nameOf(classId), name: key.slice(0, at), descriptor: key.slice(at + 1) }
      return called.name === name && this.#standsFor(called)?.owner === text
    })
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

  /** Whether a compiler's method of a name is part of one of its class: a lambda, a bridge, an enum's constants … */
  #isOrdinary(name: number, flags: number): boolean {
    if (isBridge(flags)) return true
    let found = this.#ordinary.get(name)
    if (found === undefined)
      this.#ordinary.set(name, (found = ORDINARY.test(this.#index.names.get(name))))
    return found
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

/** Returns the element class of a class name in code, which may be an array. */
function elementOf(name: string): string {
  return name.startsWith('[') ? name.replace(/^\[+L?/u, '').replace(/;$/u, '') : name
}
