import { OPCODE } from '../../bytecode/columns.ts'
import type { Facts } from '../../bytecode/facts.ts'
import type { IndexedSlice } from '../../index/indexed-slice.ts'
import type { ProjectIndex } from '../../index/project-index.ts'
import type { StringPool } from '../../index/string-pool.ts'
import {
  descriptorReader,
  DISPATCHED_HANDLES,
  DISPATCHED_OPCODES,
  LIMIT,
  nameReader,
  receiverOf,
  signatureOf,
} from '../paths/slice-calls.ts'
import { type Named, NamedReader } from './named.ts'
import type { NumberPool } from './number-pool.ts'

/** Ways in which code uses a type. */
export const TYPE_USE = {
  /** An object is created: `new`, or a reference to a constructor. */
  CREATED: 0,
  /** A class literal: reflection may create objects. */
  LITERAL: 1,
  /** A static field is accessed, which initializes the class. */
  STATIC_FIELD: 2,
  /** A cast, `instanceof`, array or `catch`. */
  MENTIONED: 3,
} as const

/** JVMS §4.4.8: kinds of handles of fields, up to REF_putStatic, and REF_newInvokeSpecial. */
const LAST_FIELD_HANDLE = 4
const CONSTRUCTOR_HANDLE = 8

/** Numbers of what code uses, shared by all slices. */
export interface UsePools {
  /** Signatures as in `signatureOf`. */
  readonly signatures: NumberPool
  /** Call sites without their callers: receiver and signature. */
  readonly sites: NumberPool
  /** Fields: name of the type in the bytecode and name of the field. */
  readonly fields: NumberPool
}

/** Uses in a slice's code, each once per method; those of a method start at `first…[row]`. */
export interface SliceUses {
  readonly firstSite: Int32Array
  readonly sites: Int32Array
  readonly firstType: Int32Array
  /** Name of the type × 4 + `TYPE_USE`. */
  readonly types: Int32Array
  readonly firstField: Int32Array
  /** Field × 2 + whether it is read. */
  readonly fields: Int32Array
  /** Names in the calls of methods, by row; only of methods that have any. */
  readonly named: ReadonlyMap<number, Named>
  /** Names in the annotations of classes and their members, by row; only of classes that have any. */
  readonly annotated: ReadonlyMap<number, Named>
}

/** Returns the number of a call site. */
export function siteKey(owner: number, isDispatched: boolean, signature: number): number {
  return receiverOf(owner, isDispatched) * LIMIT + signature
}

/** Returns the number of a field. */
export function fieldKey(owner: number, name: number): number {
  return owner * LIMIT + name
}

/** Distinct numbers of one method after another. */
class Column {
  readonly first: Int32Array
  #values = new Int32Array(1024)
  #count = 0
  readonly #seen = new Set<number>()

  constructor(methodCount: number) {
    this.first = new Int32Array(methodCount + 1)
  }

  add(value: number): void {
    if (this.#seen.has(value)) return
    this.#seen.add(value)
    if (this.#count === this.#values.length) {
      const larger = new Int32Array(2 * this.#count)
      larger.set(this.#values)
      this.#values = larger
    }
    this.#values[this.#count++] = value
  }

  end(method: number): void {
    this.first[method + 1] = this.#count
    this.#seen.clear()
  }

  packed(): Int32Array {
    return this.#values.slice(0, this.#count)
  }
}

/**
 * Reads the uses in a slice's code; yields after each class. Calls of methods of arrays are omitted, and so
 * are classes hidden by others of the same name.
 */
export function* readUses(
  index: ProjectIndex,
  slice: IndexedSlice,
  facts: Facts,
  descriptors: StringPool,
  pools: UsePools,
): Generator<void, SliceUses> {
  const { classes, methods, calls, dynamicCalls, typeReferences, fieldAccesses } = facts
  const nameOf = nameReader(index, facts)
  const descriptorOf = descriptorReader(facts, descriptors)
  const sites = new Column(methods.count)
  const types = new Column(methods.count)
  const fields = new Column(methods.count)
  const reader = new NamedReader(index, facts, nameOf)
  const named = new Map<number, Named>()
  const annotated = new Map<number, Named>()
  const addSite = (owner = -1, name = -1, descriptor = -1, isDispatched: boolean): void => {
    // An owner without a name in the index is an array.
    if (owner < 0 || nameOf(owner) < 0 || nameOf(name) < 0) return
    const signature = pools.signatures.idOf(signatureOf(nameOf(name), descriptorOf(descriptor)))
    sites.add(pools.sites.idOf(siteKey(nameOf(owner), isDispatched, signature)))
  }
  const addType = (name = -1, use: number): void => {
    if (name >= 0 && nameOf(name) >= 0) types.add(nameOf(name) * 4 + use)
  }
  const addField = (owner = -1, name = -1, isRead: boolean): void => {
    if (owner < 0 || nameOf(owner) < 0) return
    // The index has no names of fields: they share the pool of descriptors.
    const key = fieldKey(nameOf(owner), descriptorOf(name))
    fields.add(pools.fields.idOf(key) * 2 + Number(isRead))
  }
  const readMethod = (method: number): void => {
    for (let at = methods.firstCall[method] ?? 0; at < (methods.firstCall[method + 1] ?? 0); at++)
      addSite(calls.owner[at], calls.name[at], calls.descriptor[at], DISPATCHED_OPCODES.has(calls.opcode[at]))
    for (
      let at = methods.firstDynamicCall[method] ?? 0;
      at < (methods.firstDynamicCall[method + 1] ?? 0);
      at++
    ) {
      const { handleOwner, handleName, handleDescriptor, handleKind } = dynamicCalls
      const kind = handleKind[at] ?? 0
      if (kind > LAST_FIELD_HANDLE)
        addSite(handleOwner[at], handleName[at], handleDescriptor[at], DISPATCHED_HANDLES.has(kind))
      else if (kind > 0) addField(handleOwner[at], handleName[at], true)
      if (kind === CONSTRUCTOR_HANDLE) addType(handleOwner[at], TYPE_USE.CREATED)
    }
    for (
      let at = methods.firstTypeReference[method] ?? 0;
      at < (methods.firstTypeReference[method + 1] ?? 0);
      at++
    )
      addType(typeReferences.name[at], USE_OF_OPCODE[typeReferences.opcode[at] ?? 0] ?? TYPE_USE.MENTIONED)
    for (
      let at = methods.firstFieldAccess[method] ?? 0;
      at < (methods.firstFieldAccess[method + 1] ?? 0);
      at++
    ) {
      const opcode = fieldAccesses.opcode[at]
      const isStatic = opcode === OPCODE.GETSTATIC || opcode === OPCODE.PUTSTATIC
      if (isStatic) addType(fieldAccesses.owner[at], TYPE_USE.STATIC_FIELD)
      const isRead = opcode === OPCODE.GETSTATIC || opcode === OPCODE.GETFIELD
      addField(fieldAccesses.owner[at], fieldAccesses.name[at], isRead)
    }
  }
  for (let row = 0; row < classes.count; row++) {
    yield
    const isHidden = index.isHidden(slice.firstClass + row)
    const inAnnotations = isHidden ? undefined : reader.inAnnotations(row)
    if (inAnnotations !== undefined) annotated.set(row, inAnnotations)
    for (let at = classes.firstMethod[row] ?? 0; at < (classes.firstMethod[row + 1] ?? 0); at++) {
      if (!isHidden) {
        readMethod(at)
        const inMethod = reader.inMethod(at)
        if (inMethod !== undefined) named.set(at, inMethod)
      }
      for (const column of [sites, types, fields]) column.end(at)
    }
  }
  return {
    firstSite: sites.first,
    sites: sites.packed(),
    firstType: types.first,
    types: types.packed(),
    firstField: fields.first,
    fields: fields.packed(),
    named,
    annotated,
  }
}

const USE_OF_OPCODE: Readonly<Record<number, number>> = {
  [OPCODE.NEW]: TYPE_USE.CREATED,
  [OPCODE.LDC]: TYPE_USE.LITERAL,
}
