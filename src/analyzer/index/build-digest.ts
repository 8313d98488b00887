import { TARGET } from '../bytecode/columns.ts'
import type { Facts } from '../bytecode/facts.ts'
import { packTables } from '../bytecode/tables.ts'
import { digestColumns, USE, USE_KINDS } from './digest.ts'
import { DigestNames } from './digest-names.ts'
import { IntList } from './int-list.ts'

const NEW = 187
const PUBLIC_PRIVATE_PROTECTED_STATIC = 0x000f

/** Makes the digest of a slice's facts. */
export function buildDigest(facts: Facts): ArrayBuffer {
  const names = new DigestNames(facts.strings)
  const { classes, methods, interfaces } = facts
  const idsOf = (ids: Int32Array, count: number) => ids.subarray(0, count).map((id) => names.idOf(id))
  const tables = {
    classes: {
      name: idsOf(classes.name, classes.count),
      superName: idsOf(classes.superName, classes.count),
      accessFlags: realAccess(facts),
      traits: classes.traits,
      firstInterface: classes.firstInterface,
      firstMethod: classes.firstMethod,
      fieldCount: Uint16Array.from(classes.name, (_, row) => span(classes.firstField, row)),
    },
    interfaces: { name: idsOf(interfaces.name, interfaces.count) },
    methods: {
      name: idsOf(methods.name, methods.count),
      descriptor: idsOf(methods.descriptor, methods.count),
      accessFlags: methods.accessFlags,
    },
    annotations: annotationsByType(facts, names),
    ...usesByType(facts, names),
    ...calleesByOwner(facts, names),
  }
  return packTables(digestColumns, tables, names.texts)
}

/** What InnerClasses says of visibility and `static` is the source's; the class's own flags know neither private nor protected. */
function realAccess({ classes }: Facts): Uint16Array {
  return Uint16Array.from(classes.name, (_, row) => {
    const own = classes.accessFlags[row] ?? 0
    const isNested = (classes.innerName[row] ?? -1) >= 0 || (classes.enclosingClass[row] ?? -1) >= 0
    if (!isNested) return own
    const inner = (classes.innerAccessFlags[row] ?? 0) & PUBLIC_PRIVATE_PROTECTED_STATIC
    return (own & ~PUBLIC_PRIVATE_PROTECTED_STATIC) | inner
  })
}

/** How often each class uses which type, grouped by type. */
function usesByType(facts: Facts, names: DigestNames) {
  const counter = new UseCounter(names)
  for (let row = 0; row < facts.classes.count; row++) {
    countSignatures(facts, row, names, counter)
    countCode(facts, row, names, counter)
    countOthers(facts, row, names, counter)
    counter.endClass(row, names.idOf(facts.classes.name[row] ?? -1))
  }
  return counter.grouped()
}

function countSignatures(facts: Facts, row: number, names: DigestNames, counter: UseCounter): void {
  const { classes, interfaces, fields, methods } = facts
  counter.add(names.idOf(classes.superName[row] ?? -1), USE.EXTENDS)
  for (let i = classes.firstInterface[row] ?? 0; i < (classes.firstInterface[row + 1] ?? 0); i++) {
    counter.add(names.idOf(interfaces.name[i] ?? -1), USE.IMPLEMENTS)
  }
  for (let i = classes.firstField[row] ?? 0; i < (classes.firstField[row + 1] ?? 0); i++) {
    for (const type of names.typesOfField(fields.descriptor[i] ?? -1, fields.signature[i] ?? -1)) {
      counter.add(type, USE.FIELD)
    }
  }
  for (let i = classes.firstMethod[row] ?? 0; i < (classes.firstMethod[row + 1] ?? 0); i++) {
    const types = names.typesOfMethod(methods.descriptor[i] ?? -1, methods.signature[i] ?? -1)
    for (const parameter of types.parameters) for (const type of parameter) counter.add(type, USE.PARAM)
    for (const type of types.returns) counter.add(type, USE.RETURN)
  }
}

function countCode(facts: Facts, row: number, names: DigestNames, counter: UseCounter): void {
  const { classes, methods, calls, fieldAccesses, typeReferences, exceptions } = facts
  // The methods of a class lie side by side, and so does what they do.
  const first = classes.firstMethod[row] ?? 0
  const end = classes.firstMethod[row + 1] ?? 0
  for (let i = methods.firstCall[first] ?? 0; i < (methods.firstCall[end] ?? 0); i++) {
    const owner = calls.owner[i] ?? -1
    // What a constructor is called on is an INSTANTIATION, or the superclass; an array is no class of its own.
    const isReceiver = calls.name[i] !== names.constructorName && !names.isArray(owner)
    counter.add(names.elementOf(owner), isReceiver ? USE.CALL_RECEIVER : USE.OTHER)
  }
  for (let i = methods.firstFieldAccess[first] ?? 0; i < (methods.firstFieldAccess[end] ?? 0); i++) {
    counter.add(names.elementOf(fieldAccesses.owner[i] ?? -1), USE.OTHER)
  }
  for (let i = methods.firstTypeReference[first] ?? 0; i < (methods.firstTypeReference[end] ?? 0); i++) {
    const isNew = typeReferences.opcode[i] === NEW
    counter.add(names.elementOf(typeReferences.name[i] ?? -1), isNew ? USE.INSTANTIATION : USE.OTHER)
  }
  for (let i = methods.firstException[first] ?? 0; i < (methods.firstException[end] ?? 0); i++) {
    counter.add(names.idOf(exceptions.name[i] ?? -1), USE.OTHER)
  }
}

/** Annotations, and whatever else the class file names. */
function countOthers(facts: Facts, row: number, names: DigestNames, counter: UseCounter): void {
  const { classes, annotations, references } = facts
  for (let i = classes.firstAnnotation[row] ?? 0; i < (classes.firstAnnotation[row + 1] ?? 0); i++) {
    counter.add(names.idOf(annotations.type[i] ?? -1), isOnSource(facts, i) ? USE.ANNOTATION : USE.OTHER)
  }
  for (let i = classes.firstReference[row] ?? 0; i < (classes.firstReference[row + 1] ?? 0); i++) {
    counter.addIfNew(names.idOf(references.name[i] ?? -1), USE.OTHER)
  }
}

/** On a class or a member, and not a value inside another annotation. */
function isOnSource({ annotations }: Facts, row: number): boolean {
  return (annotations.targetKind[row] ?? 0) <= TARGET.RECORD_COMPONENT
}

/** Counts for one class at a time. */
class UseCounter {
  /** At type * USE_KINDS + kind; `#touched` says where it is not 0. */
  #counts = new Int32Array(1 << 14)
  readonly #touched = new IntList()
  readonly #types = new IntList()
  readonly #classes = new IntList()
  readonly #kinds = new IntList()
  readonly #amounts = new IntList()
  readonly #names: DigestNames

  constructor(names: DigestNames) {
    this.#names = names
  }

  add(type: number, kind: number): void {
    if (type < 0) return
    const at = type * USE_KINDS + kind
    if (at >= this.#counts.length) {
      const larger = new Int32Array(2 * at)
      larger.set(this.#counts)
      this.#counts = larger
    }
    if (this.#counts[at] === 0) this.#touched.push(at)
    this.#counts[at] = (this.#counts[at] ?? 0) + 1
  }

  addIfNew(type: number, kind: number): void {
    for (let each = 0; each < USE_KINDS; each++) if ((this.#counts[type * USE_KINDS + each] ?? 0) > 0) return
    this.add(type, kind)
  }

  /** What a class says of itself is no use. */
  endClass(row: number, self: number): void {
    for (let i = 0; i < this.#touched.length; i++) {
      const at = this.#touched.at(i)
      const type = Math.floor(at / USE_KINDS)
      if (type !== self) {
        this.#types.push(type)
        this.#classes.push(row)
        this.#kinds.push(at % USE_KINDS)
        this.#amounts.push(this.#counts[at] ?? 0)
      }
      this.#counts[at] = 0
    }
    this.#touched.clear()
  }

  /** Sorted by counting, which keeps the classes of a type in their order. */
  grouped() {
    const { order, keys, first } = groupBy(this.#types, this.#names.texts.length)
    return {
      types: { name: keys, firstUse: first },
      uses: {
        class: order.map((row) => this.#classes.at(row)),
        kind: order.map((row) => this.#kinds.at(row)),
        times: order.map((row) => this.#amounts.at(row)),
      },
    }
  }
}

/** Which classes call a method, by its owner and name. */
function calleesByOwner(facts: Facts, names: DigestNames) {
  const { classes, methods, calls, dynamicCalls, strings } = facts
  const placeOf = new Map<number, number>()
  const owners = new IntList()
  const methodNames = new IntList()
  /** The last class that was noted for a callee. */
  const last = new IntList()
  const callee = new IntList()
  const caller = new IntList()
  const add = (owner: number, name: number, row: number): void => {
    if (owner < 0 || name < 0) return
    const pair = owner * strings.count + name
    let place = placeOf.get(pair)
    if (place === undefined) {
      place = owners.length
      placeOf.set(pair, place)
      owners.push(names.idOf(owner))
      methodNames.push(names.idOf(name))
      last.push(-1)
    }
    if (last.at(place) === row) return
    last.set(place, row)
    callee.push(place)
    caller.push(row)
  }
  for (let row = 0; row < classes.count; row++) {
    const first = classes.firstMethod[row] ?? 0
    const end = classes.firstMethod[row + 1] ?? 0
    for (let i = methods.firstCall[first] ?? 0; i < (methods.firstCall[end] ?? 0); i++) {
      add(calls.owner[i] ?? -1, calls.name[i] ?? -1, row)
    }
    for (let i = methods.firstDynamicCall[first] ?? 0; i < (methods.firstDynamicCall[end] ?? 0); i++) {
      add(dynamicCalls.handleOwner[i] ?? -1, dynamicCalls.handleName[i] ?? -1, row)
    }
  }
  const { order, first } = groupBy(callee, owners.length)
  return {
    callees: { owner: owners.values(), name: methodNames.values(), firstCaller: first },
    callers: { class: order.map((row) => caller.at(row)) },
  }
}

function annotationsByType(facts: Facts, names: DigestNames) {
  const types = new IntList()
  const owners = new IntList()
  const rows = new IntList()
  const { classes, annotations } = facts
  for (let owner = 0; owner < classes.count; owner++) {
    for (let i = classes.firstAnnotation[owner] ?? 0; i < (classes.firstAnnotation[owner + 1] ?? 0); i++) {
      if (!isOnSource(facts, i)) continue
      types.push(names.idOf(annotations.type[i] ?? -1))
      owners.push(owner)
      rows.push(i)
    }
  }
  const { order } = groupBy(types, names.texts.length)
  return {
    type: order.map((row) => types.at(row)),
    class: order.map((row) => owners.at(row)),
    row: order.map((row) => rows.at(row)),
  }
}

/**
 * Sorts rows by a key from 0 to below `count`, keeping the order of those with the same.
 *
 * @returns the rows in order; the keys that there are, and where in the order the rows of each begin, with the last one's end
 */
function groupBy(keyOf: IntList, count: number) {
  const starts = new Int32Array(count + 1)
  for (let row = 0; row < keyOf.length; row++)
    starts[keyOf.at(row) + 1] = (starts[keyOf.at(row) + 1] ?? 0) + 1
  const keys = new IntList()
  const first = new IntList()
  for (let key = 0; key < count; key++) {
    if ((starts[key + 1] ?? 0) > 0) {
      keys.push(key)
      first.push(starts[key] ?? 0)
    }
    starts[key + 1] = (starts[key + 1] ?? 0) + (starts[key] ?? 0)
  }
  first.push(keyOf.length)
  const order = new Int32Array(keyOf.length)
  for (let row = 0; row < keyOf.length; row++) {
    const key = keyOf.at(row)
    order[starts[key] ?? 0] = row
    starts[key] = (starts[key] ?? 0) + 1
  }
  return { order, keys: keys.values(), first: first.values() }
}

function span(first: Int32Array, row: number): number {
  return Math.min((first[row + 1] ?? 0) - (first[row] ?? 0), 0xffff)
}
