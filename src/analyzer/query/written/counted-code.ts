import { ACC } from '../../bytecode/access-flags.ts'
import { rows } from '../../bytecode/facts.ts'
import { supertypesOf } from '../types/subtypes.ts'
import type { CompiledCode } from './compiled-code.ts'

/** Names that code uses, by their ids. */
interface Moved {
  /** Names of methods. */
  readonly names: ReadonlySet<number>
  readonly types: ReadonlySet<number>
}

const UNKNOWN = 2

const NOTHING_MOVED: Moved = { names: new Set(), types: new Set() }

/** Names of methods to which only their own class refers, or that stand for one of it. */
const ORDINARY = /^(?:lambda\$|\$values$|<init>$)|\$(?:default|annotations|lambda\$\d+)$/

/** Finds where the counts of digests differ from those of written code; only few classes are read for that. */
export class CountedCode {
  readonly #compiled: CompiledCode
  /** Names by whether code of methods with them counts in the same class, once. */
  readonly #ordinary = new Map<number, boolean>()
  readonly #moved = new Map<number, Moved>()
  readonly #copied = new Map<number, ReadonlySet<number>>()
  /** By class: whether a compiler made the class or some of its methods; UNKNOWN until it is asked for. */
  readonly #isMixed: Uint8Array

  constructor(compiled: CompiledCode) {
    this.#compiled = compiled
    this.#isMixed = new Uint8Array(compiled.snapshot.index.classCount).fill(UNKNOWN)
  }

  /** As `Attribution` describes it. */
  isCallCountedElsewhere(classId: number, name: number): boolean {
    if (!this.#hasMade(classId)) return false
    if (this.#compiled.snapshot.index.isMade(classId)) return true
    const made = this.#compiled.madeIn(classId)
    if (made.has(name) || this.#movedIn(classId).names.has(name)) return true
    const withDefaults = this.#compiled.snapshot.index.names.find(
      `${this.#compiled.snapshot.index.names.get(name)}$default`,
    )
    return withDefaults !== undefined && made.has(withDefaults)
  }

  /** As `Attribution` describes it. */
  isUseCountedElsewhere(classId: number, type: number, isCopied: boolean): boolean {
    if (!this.#hasMade(classId)) return false
    if (this.#compiled.snapshot.index.isMade(classId)) return true
    const made = this.#compiled.madeIn(classId)
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

  /** Whether a compiler made a class, or some of its methods. */
  #hasMade(classId: number): boolean {
    let found = this.#isMixed[classId]
    if (found === UNKNOWN) {
      const isMixed = this.#compiled.snapshot.index.isMade(classId) || this.#compiled.madeIn(classId).size > 0
      this.#isMixed[classId] = found = isMixed ? 1 : 0
    }
    return found === 1
  }

  #isParent(classId: number, type: number): boolean {
    const { superclass, interfaces } = supertypesOf(this.#compiled.snapshot, classId)
    return superclass === type || interfaces.includes(type)
  }

  /** Returns what the code of a class uses that counts for other classes, for several methods, or for none. */
  #movedIn(classId: number): Moved {
    let found = this.#moved.get(classId)
    if (found === undefined) {
      const isOrdinary = [...this.#compiled.madeIn(classId)].every(([name, flags]) =>
        this.#isOrdinary(name, flags),
      )
      this.#moved.set(classId, (found = isOrdinary ? NOTHING_MOVED : this.#readMoved(classId)))
    }
    return found
  }

  /** Returns the names of the exceptions and annotations of a class's bridges. */
  #copiedIn(classId: number): ReadonlySet<number> {
    let found = this.#copied.get(classId)
    if (found === undefined) {
      const hasBridge = [...this.#compiled.madeIn(classId).values()].some(isBridge)
      this.#copied.set(classId, (found = hasBridge ? this.#readCopied(classId) : NOTHING_MOVED.types))
    }
    return found
  }

  #readCopied(classId: number): ReadonlySet<number> {
    const { facts, row } = this.#compiled.read(classId)
    const { classes, methods, exceptions, annotations, strings } = facts
    const own = this.#compiled.methodsOf(classId)
    const texts = [
      ...rows(classes.firstMethod, row)
        .filter((method) => own.isMade(method))
        .flatMap((method) => rows(methods.firstException, method))
        .map((at) => exceptions.name[at] ?? -1),
      ...rows(classes.firstAnnotation, row).map((at) => annotations.type[at] ?? -1),
    ]
    return new Set(
      texts.map((id) => (id < 0 ? -1 : (this.#compiled.snapshot.index.names.find(strings.get(id)) ?? -1))),
    )
  }

  #readMoved(classId: number): Moved {
    const { facts, row } = this.#compiled.read(classId)
    const { classes, methods, calls, dynamicCalls, fieldAccesses, typeReferences, exceptions, strings } =
      facts
    const own = this.#compiled.methodsOf(classId)
    const names = new Set<number>()
    const types = new Set<number>()
    const add = (to: Set<number>, id = -1): void => {
      const text = id < 0 ? undefined : strings.get(id)
      const known = text === undefined ? undefined : this.#compiled.snapshot.index.names.find(elementOf(text))
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
        const returned =
          strings
            .get(dynamicCalls.descriptor[at] ?? 0)
            .split(')')
            .at(-1) ?? ''
        const lambda = this.#compiled.snapshot.index.names.find(returned.replace(/^L|;$/g, ''))
        if (lambda !== undefined) types.add(lambda)
      }
      for (const at of rows(methods.firstFieldAccess, method)) add(types, fieldAccesses.owner[at])
      for (const at of rows(methods.firstTypeReference, method)) add(types, typeReferences.name[at])
      for (const at of rows(methods.firstException, method)) add(types, exceptions.name[at])
    }
    return { names, types }
  }

  /** Whether a compiler's method of a name is part of one of its class: a lambda, a bridge, an enum's constants … */
  #isOrdinary(name: number, flags: number): boolean {
    if (isBridge(flags)) return true
    let found = this.#ordinary.get(name)
    if (found === undefined)
      this.#ordinary.set(name, (found = ORDINARY.test(this.#compiled.snapshot.index.names.get(name))))
    return found
  }
}

function isBridge(accessFlags: number): boolean {
  return (accessFlags & ACC.BRIDGE) !== 0
}

/** Returns the element class of a class name in code, which may be an array. */
function elementOf(name: string): string {
  return name.startsWith('[') ? name.replace(/^\[+L?/u, '').replace(/;$/u, '') : name
}
