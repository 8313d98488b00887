import { ACC } from '../../../src/analyzer/bytecode/access-flags.ts'
import { DIRECTIVE } from '../../../src/analyzer/bytecode/columns.ts'
import { type Facts, isOnSource, rows } from '../../../src/analyzer/bytecode/facts.ts'
import { isMetafactory, WrittenMethods } from '../../../src/analyzer/bytecode/written-methods.ts'
import { packTables } from '../pack-tables.ts'
import { digestColumns, USE, USE_KINDS } from '../../../src/analyzer/index/digest.ts'
import { DigestNames } from './digest-names.ts'
import { IntList } from './int-list.ts'
import { PairIds } from './pair-ids.ts'

const PUBLIC_PRIVATE_PROTECTED_STATIC = 0x000f
// JVMS §6.5: getstatic and getfield; what the columns of type references hold.
const READS = new Set([178, 180])
const KIND_OF: Readonly<Record<number, keyof typeof USE>> = {
  0: 'CATCH',
  18: 'CLASS_LITERAL',
  187: 'INSTANTIATION',
  192: 'CAST',
  193: 'INSTANCEOF',
}
/** Maximum count of one row. */
const MOST_TIMES = 0xff

/** Creates the digest of a slice's facts, to compare with the addon's. */
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
      methodCount: ownMethods(facts, names),
      fieldCount: Uint16Array.from(classes.name, (_, row) => span(classes.firstField, row)),
    },
    interfaces: { name: idsOf(interfaces.name, interfaces.count) },
    methods: {
      name: idsOf(methods.name, methods.count),
      returns: methods.descriptor.map((descriptor) => names.returnOf(descriptor)),
      accessFlags: methods.accessFlags,
    },
    annotations: annotationsOnSource(facts, names),
    ...usesByType(facts, names),
    ...calleesByOwner(facts, names),
  }
  const strings = names.pool.table()
  const texts = { hash: Array.from({ length: strings.count }, (_, id) => hashOf(strings.bytesOf(id))) }
  return packTables(digestColumns, { ...tables, texts }, strings)
}

/** 32-bit FNV-1a, folded as string-pool.ts does. */
function hashOf(bytes: Uint8Array): number {
  const hash = bytes.reduce((last, byte) => Math.imul(last ^ byte, 0x01000193), 0x811c9dc5 | 0)
  return hash ^ (hash >>> 15)
}

/** Number of methods in each class's source, without constructors and static initializers. */
function ownMethods({ classes, methods }: Facts, names: DigestNames): Uint16Array {
  const counts = new Uint16Array(classes.count)
  for (let row = 0; row < classes.count; row++) {
    for (let i = classes.firstMethod[row] ?? 0; i < (classes.firstMethod[row + 1] ?? 0); i++) {
      if (!isMade(methods.accessFlags[i]) && !names.isSpecial(methods.name[i] ?? 0))
        counts[row] = (counts[row] ?? 0) + 1
    }
  }
  return counts
}

/**
 * InnerClasses has the visibility and `static` of the source; the class's own flags have neither private nor
 * protected.
 */
function realAccess({ classes }: Facts): Uint16Array {
  return Uint16Array.from(classes.name, (_, row) => {
    const own = classes.accessFlags[row] ?? 0
    const isNested = (classes.innerName[row] ?? -1) >= 0 || (classes.enclosingClass[row] ?? -1) >= 0
    if (!isNested) return own
    const inner = (classes.innerAccessFlags[row] ?? 0) & PUBLIC_PRIVATE_PROTECTED_STATIC
    return (own & ~PUBLIC_PRIVATE_PROTECTED_STATIC) | inner
  })
}

/** How often each class uses each type, grouped by type. */
function usesByType(facts: Facts, names: DigestNames) {
  const counter = new UseCounter(names)
  for (let row = 0; row < facts.classes.count; row++) {
    countSignatures(facts, row, names, counter)
    countServices(facts, row, names, counter)
    countCode(facts, row, names, counter)
    countOthers(facts, row, names, counter)
    counter.endClass(row, names.idOf(facts.classes.name[row] ?? -1))
  }
  return counter.grouped()
}

function countSignatures(facts: Facts, row: number, names: DigestNames, counter: UseCounter): void {
  const { classes, interfaces, fields, methods, exceptions, permittedSubclasses, recordComponents } = facts
  counter.add(names.idOf(classes.superName[row] ?? -1), USE.EXTENDS)
  for (let i = classes.firstInterface[row] ?? 0; i < (classes.firstInterface[row + 1] ?? 0); i++) {
    counter.add(names.idOf(interfaces.name[i] ?? -1), USE.IMPLEMENTS)
  }
  for (let i = classes.firstField[row] ?? 0; i < (classes.firstField[row + 1] ?? 0); i++) {
    const kind = isMade(fields.accessFlags[i]) ? USE.SYNTHETIC_FIELD : USE.FIELD
    for (const type of names.typesOfField(fields.descriptor[i] ?? -1, fields.signature[i] ?? -1))
      counter.add(type, kind)
  }
  for (let i = classes.firstMethod[row] ?? 0; i < (classes.firstMethod[row + 1] ?? 0); i++) {
    const types = names.typesOfMethod(methods.descriptor[i] ?? -1, methods.signature[i] ?? -1)
    const made = isMade(methods.accessFlags[i])
    for (const type of types.parameters) counter.add(type, made ? USE.SYNTHETIC_PARAM : USE.PARAM)
    for (const type of types.returns) counter.add(type, made ? USE.SYNTHETIC_RETURN : USE.RETURN)
    const signature = methods.signature[i] ?? -1
    if (signature < 0) continue
    for (const type of names.typesOfParameters(signature)) counter.add(type, USE.TYPE_PARAMETER)
  }
  const thrown = rows(classes.firstMethod, row).flatMap((method) => rows(methods.firstException, method))
  for (const i of thrown) counter.add(names.idOf(exceptions.name[i] ?? -1), USE.THROWS)
  for (const i of rows(classes.firstPermittedSubclass, row))
    counter.add(names.idOf(permittedSubclasses.name[i] ?? -1), USE.PERMITS)
  for (const i of rows(classes.firstRecordComponent, row)) {
    const { descriptor, signature } = recordComponents
    for (const type of names.typesOfField(descriptor[i] ?? -1, signature[i] ?? -1))
      counter.add(type, USE.RECORD_COMPONENT)
  }
  const signature = classes.signature[row] ?? -1
  if (signature < 0) return
  for (const type of names.typesOfParameters(signature)) counter.add(type, USE.TYPE_PARAMETER)
  for (const type of names.typesOfArguments(signature)) counter.add(type, USE.TYPE_ARGUMENT)
}

/** Services that a module uses or provides, and their providers. */
function countServices(facts: Facts, row: number, names: DigestNames, counter: UseCounter): void {
  const { classes, moduleDirectives } = facts
  for (const i of rows(classes.firstModuleDirective, row)) {
    const kind = moduleDirectives.kind[i]
    if (kind !== DIRECTIVE.USES && kind !== DIRECTIVE.PROVIDES) continue
    counter.add(names.idOf(moduleDirectives.name[i] ?? -1), USE.SERVICE)
    if (kind === DIRECTIVE.PROVIDES) counter.add(names.idOf(moduleDirectives.target[i] ?? -1), USE.SERVICE)
  }
}

function isMade(accessFlags = 0): boolean {
  return (accessFlags & ACC.SYNTHETIC) !== 0
}

function countCode(facts: Facts, row: number, names: DigestNames, counter: UseCounter): void {
  const { classes, methods, calls, fieldAccesses, typeReferences, dynamicCalls } = facts
  // The methods of a class are consecutive rows, and so are their instructions.
  const first = classes.firstMethod[row] ?? 0
  const end = classes.firstMethod[row + 1] ?? 0
  for (let i = methods.firstCall[first] ?? 0; i < (methods.firstCall[end] ?? 0); i++) {
    const owner = calls.owner[i] ?? -1
    // The owner of a constructor call is an INSTANTIATION or the superclass; an array is not a separate
    // class.
    const isReceiver = !names.isConstructor(calls.name[i] ?? 0) && !names.isArray(owner)
    counter.add(names.elementOf(owner), isReceiver ? USE.CALL_RECEIVER : USE.OTHER)
  }
  for (let i = methods.firstFieldAccess[first] ?? 0; i < (methods.firstFieldAccess[end] ?? 0); i++) {
    const isRead = READS.has(fieldAccesses.opcode[i] ?? 0)
    counter.add(names.elementOf(fieldAccesses.owner[i] ?? -1), isRead ? USE.FIELD_READ : USE.FIELD_WRITE)
  }
  for (let i = methods.firstTypeReference[first] ?? 0; i < (methods.firstTypeReference[end] ?? 0); i++) {
    const kind = KIND_OF[typeReferences.opcode[i] ?? 0] ?? 'ARRAY_CREATION'
    counter.add(names.elementOf(typeReferences.name[i] ?? -1), USE[kind])
  }
  const firstDynamic = methods.firstDynamicCall[first] ?? 0
  const endDynamic = methods.firstDynamicCall[end] ?? 0
  const own = WrittenMethods.of(facts, row)
  for (let i = firstDynamic; i < endDynamic; i++) {
    if (own.isMethodReference(i))
      counter.add(names.elementOf(dynamicCalls.handleOwner[i] ?? -1), USE.METHOD_REFERENCE)
    if (!isMetafactory(facts, i)) continue
    for (const type of names.typesOfMethod(dynamicCalls.descriptor[i] ?? -1, -1).returns)
      counter.add(type, USE.LAMBDA)
  }
}

/** Annotations, and all other mentions in the class file. */
function countOthers(facts: Facts, row: number, names: DigestNames, counter: UseCounter): void {
  const { classes, annotations, references } = facts
  for (let i = classes.firstAnnotation[row] ?? 0; i < (classes.firstAnnotation[row + 1] ?? 0); i++) {
    counter.add(names.idOf(annotations.type[i] ?? -1), isOnSource(facts, i) ? USE.ANNOTATION : USE.OTHER)
  }
  for (let i = classes.firstReference[row] ?? 0; i < (classes.firstReference[row + 1] ?? 0); i++) {
    counter.addIfNew(names.idOf(references.name[i] ?? -1), USE.OTHER)
  }
}

/** Counts for one class at a time. */
class UseCounter {
  /** Counts at type * USE_KINDS + kind; `#touched` lists those that are not 0. */
  #counts = new Int32Array(1 << 14)
  readonly #touched = new IntList()
  readonly #types = new IntList()
  readonly #classes = new IntList()
  readonly #kinds = new IntList()
  readonly #times = new IntList()
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

  /** A class's mentions of itself do not count. */
  endClass(row: number, self: number): void {
    for (let i = 0; i < this.#touched.length; i++) {
      const at = this.#touched.at(i)
      const type = Math.floor(at / USE_KINDS)
      if (type !== self) {
        for (let left = this.#counts[at] ?? 0; left > 0; left -= MOST_TIMES) {
          this.#types.push(type)
          this.#classes.push(row)
          this.#kinds.push(at % USE_KINDS)
          this.#times.push(Math.min(left, MOST_TIMES))
        }
      }
      this.#counts[at] = 0
    }
    this.#touched.clear()
  }

  /** Sorted by counting, which keeps the classes of a type in their order. */
  grouped() {
    const { order, keys, first } = groupRows(this.#types, this.#names.pool.count)
    return {
      types: { name: keys, firstUse: first },
      uses: {
        class: this.#classes.picked(order),
        kind: this.#kinds.picked(order),
        times: this.#times.picked(order),
      },
    }
  }
}

/** How often each class calls or refers to a method, by its owner and name. */
function calleesByOwner(facts: Facts, names: DigestNames) {
  const { classes, methods, calls, dynamicCalls } = facts
  const callees = new PairIds()
  /** Last row of each callee among the callers. */
  const last = new IntList()
  const callee = new IntList()
  const caller = new IntList()
  const times = new IntList()
  const add = (owner: number, name: number, row: number): void => {
    if (owner < 0 || name < 0) return
    const place = callees.idOf(owner, name)
    if (place === last.length) last.push(-1)
    const known = last.at(place)
    if (known >= 0 && caller.at(known) === row && times.at(known) < MOST_TIMES) {
      times.set(known, times.at(known) + 1)
      return
    }
    last.set(place, callee.length)
    callee.push(place)
    caller.push(row)
    times.push(1)
  }
  for (let row = 0; row < classes.count; row++) {
    const first = classes.firstMethod[row] ?? 0
    const end = classes.firstMethod[row + 1] ?? 0
    for (let i = methods.firstCall[first] ?? 0; i < (methods.firstCall[end] ?? 0); i++) {
      add(calls.owner[i] ?? -1, calls.name[i] ?? -1, row)
    }
    const firstDynamic = methods.firstDynamicCall[first] ?? 0
    const endDynamic = methods.firstDynamicCall[end] ?? 0
    if (firstDynamic === endDynamic) continue
    const own = WrittenMethods.of(facts, row)
    for (let i = firstDynamic; i < endDynamic; i++) {
      if (own.isMethodReference(i))
        add(dynamicCalls.handleOwner[i] ?? -1, dynamicCalls.handleName[i] ?? -1, row)
    }
  }
  const { order, first } = groupRows(callee, callees.count)
  return {
    callees: {
      owner: callees.firsts().map((owner) => names.idOf(owner)),
      name: callees.seconds().map((name) => names.idOf(name)),
      firstCaller: first,
    },
    callers: { class: caller.picked(order), times: times.picked(order) },
  }
}

function annotationsOnSource(facts: Facts, names: DigestNames) {
  const owners = new IntList()
  const found = new IntList()
  const { classes, annotations } = facts
  for (let owner = 0; owner < classes.count; owner++) {
    for (let i = classes.firstAnnotation[owner] ?? 0; i < (classes.firstAnnotation[owner + 1] ?? 0); i++) {
      if (!isOnSource(facts, i)) continue
      owners.push(owner)
      found.push(i)
    }
  }
  const row = found.values()
  return {
    type: row.map((each) => names.idOf(annotations.type[each] ?? -1)),
    class: owners.values(),
    row,
    targetKind: row.map((each) => annotations.targetKind[each] ?? 0),
    target: row.map((each) => annotations.target[each] ?? 0),
  }
}

function span(first: Int32Array, row: number): number {
  return Math.min((first[row + 1] ?? 0) - (first[row] ?? 0), 0xffff)
}

/**
 * Sorts rows by a key from 0 to below `count`, stably.
 *
 * @returns the rows in order; the existing keys, and the start of each key's rows in the order, with the end
 * of the last
 */
function groupRows(keyOf: IntList, count: number) {
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
