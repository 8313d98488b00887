import { ACC } from '../../bytecode/access-flags.ts'
import { type Facts, rows } from '../../bytecode/facts.ts'
import { KINDS_IN_CODE, type ReferenceKind } from '../../choices.ts'
import { supertypesOf } from '../types/subtypes.ts'
import type { CompiledCode } from './compiled-code.ts'

/** Names that code uses, by their ids. */
interface Moved {
  /** Names of methods. */
  readonly names: ReadonlySet<number>
  readonly types: Types
  /** Those in code that counts for other classes; undefined without such code. */
  readonly shared: Types | undefined
}

/** Types, by what names them. */
type Types = Readonly<Record<By, ReadonlySet<number>>>

/** Kind of row in the facts that names a type in code. */
type By = 'call' | 'dynamicCall' | 'fieldAccess' | 'typeReference' | 'exception'

/** Rows that are counted as a kind of reference in code; for any other these are type references. */
const COUNTED: Partial<Record<ReferenceKind, By>> = {
  CALL_RECEIVER: 'call',
  METHOD_REFERENCE: 'dynamicCall',
  LAMBDA: 'dynamicCall',
  FIELD_READ: 'fieldAccess',
  FIELD_WRITE: 'fieldAccess',
  THROWS: 'exception',
}

/** Kinds of references that compilers copy from a method to its bridge. */
const COPIED: ReadonlySet<ReferenceKind> = new Set(['ANNOTATION', 'THROWS'])

const UNKNOWN = 2

const NO_TYPES: ReadonlySet<number> = new Set()

/** Finds where the counts of digests differ from those of written code; only few classes are read for that. */
export class CountedCode {
  readonly #compiled: CompiledCode
  /** Undefined for classes without such code. */
  readonly #moved = new Map<number, Moved | undefined>()
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
    if (made.has(name) || this.#movedIn(classId)?.names.has(name) === true) return true
    const withDefaults = this.#compiled.snapshot.index.names.find(
      `${this.#compiled.snapshot.index.names.get(name)}$default`,
    )
    return withDefaults !== undefined && made.has(withDefaults)
  }

  /** As `Attribution` describes it. */
  isUseCountedElsewhere(classId: number, type: number, kind: ReferenceKind): boolean {
    const isCopied = COPIED.has(kind)
    if (!(isCopied || KINDS_IN_CODE.has(kind)) || !this.#hasMade(classId)) return false
    if (this.#compiled.snapshot.index.isMade(classId)) return true
    if (isCopied && this.#copiedIn(classId).has(type)) return true
    if (this.#movedIn(classId)?.types[COUNTED[kind] ?? 'typeReference'].has(type) === true) return true
    // A bridge may call the method of a supertype.
    const hasBridge = (): boolean => [...this.#compiled.madeIn(classId).values()].some(isBridge)
    return kind === 'CALL_RECEIVER' && this.#isParent(classId, type) && hasBridge()
  }

  /** Whether code of a class counts for others. */
  isShared(classId: number): boolean {
    return this.#movedIn(classId)?.shared !== undefined
  }

  /** Whether code of a class that counts for others uses a type. */
  isUseShared(classId: number, type: number, kind: ReferenceKind): boolean {
    return this.#movedIn(classId)?.shared?.[COUNTED[kind] ?? 'typeReference'].has(type) === true
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
  #movedIn(classId: number): Moved | undefined {
    if (!this.#moved.has(classId))
      this.#moved.set(classId, this.#hasOnlyBridges(classId) ? undefined : this.#readMoved(classId))
    return this.#moved.get(classId)
  }

  /** Returns the names of the exceptions and annotations of a class's bridges. */
  #copiedIn(classId: number): ReadonlySet<number> {
    let found = this.#copied.get(classId)
    if (found === undefined) {
      const hasBridge = [...this.#compiled.madeIn(classId).values()].some(isBridge)
      this.#copied.set(classId, (found = hasBridge ? this.#readCopied(classId) : NO_TYPES))
    }
    return found
  }

  #readCopied(classId: number): ReadonlySet<number> {
    const { facts, row } = this.#compiled.read(classId)
    const { classes, methods, exceptions, annotations, strings } = facts
    const texts = [
      ...rows(classes.firstMethod, row)
        .filter((method) => isSynthetic(methods.accessFlags[method]))
        .flatMap((method) => rows(methods.firstException, method))
        .map((at) => exceptions.name[at] ?? -1),
      ...rows(classes.firstAnnotation, row).map((at) => annotations.type[at] ?? -1),
    ]
    return new Set(
      texts.map((id) => (id < 0 ? -1 : (this.#compiled.snapshot.index.names.find(strings.get(id)) ?? -1))),
    )
  }

  #readMoved(classId: number): Moved | undefined {
    const { facts, row } = this.#compiled.read(classId)
    const own = this.#compiled.methodsOf(classId)
    const moved = rows(facts.classes.firstMethod, row).filter((method) => own.holdersOf(method).length !== 1)
    if (moved.length === 0) return undefined
    const shared = moved.filter(
      (method) => own.holdersOf(method).length === 0 && !own.isRepeated(method) && !own.isAlias(method),
    )
    return {
      ...this.#namesIn(facts, moved),
      shared: shared.length === 0 ? undefined : this.#namesIn(facts, shared).types,
    }
  }

  /** Returns the names that the code of methods uses. */
  #namesIn(facts: Facts, ofMethods: readonly number[]): Omit<Moved, 'shared'> {
    const { methods, calls, dynamicCalls, fieldAccesses, typeReferences, exceptions, strings } = facts
    const names = new Set<number>()
    const types = {
      call: new Set<number>(),
      dynamicCall: new Set<number>(),
      fieldAccess: new Set<number>(),
      typeReference: new Set<number>(),
      exception: new Set<number>(),
    }
    const add = (to: Set<number>, id = -1): void => {
      const text = id < 0 ? undefined : strings.get(id)
      const known = text === undefined ? undefined : this.#compiled.snapshot.index.names.find(elementOf(text))
      if (known !== undefined) to.add(known)
    }
    for (const method of ofMethods) {
      for (const at of rows(methods.firstCall, method)) {
        add(names, calls.name[at])
        add(types.call, calls.owner[at])
      }
      for (const at of rows(methods.firstDynamicCall, method)) {
        add(names, dynamicCalls.handleName[at])
        add(types.dynamicCall, dynamicCalls.handleOwner[at])
        const returned =
          strings
            .get(dynamicCalls.descriptor[at] ?? 0)
            .split(')')
            .at(-1) ?? ''
        const lambda = this.#compiled.snapshot.index.names.find(returned.replace(/^L|;$/g, ''))
        if (lambda !== undefined) types.dynamicCall.add(lambda)
      }
      for (const at of rows(methods.firstFieldAccess, method)) add(types.fieldAccess, fieldAccesses.owner[at])
      for (const at of rows(methods.firstTypeReference, method))
        add(types.typeReference, typeReferences.name[at])
      for (const at of rows(methods.firstException, method)) add(types.exception, exceptions.name[at])
    }
    return { names, types }
  }

  /** Whether a compiler only added bridges to written methods of a class: their code is read for no other. */
  #hasOnlyBridges(classId: number): boolean {
    const made = this.#compiled.madeIn(classId)
    if (made.size === 0) return true
    const written = this.#compiled.writtenIn(classId)
    return [...made].every(([name, flags]) => isBridge(flags) && written.has(name))
  }
}

function isSynthetic(accessFlags = 0): boolean {
  return (accessFlags & ACC.SYNTHETIC) !== 0
}

function isBridge(accessFlags: number): boolean {
  return (accessFlags & ACC.BRIDGE) !== 0
}

/** Returns the element class of a class name in code, which may be an array. */
function elementOf(name: string): string {
  return name.startsWith('[') ? name.replace(/^\[+L?/u, '').replace(/;$/u, '') : name
}
