import { TARGET } from '../bytecode/columns.ts'
import type { Facts } from '../bytecode/facts.ts'
import { packTables } from '../bytecode/tables.ts'
import { digestColumns, USE, USE_KINDS } from './digest.ts'
import { classesIn, type MethodTypes, methodTypes } from './type-names.ts'

const NEW = 187
const OPENING_BRACKET = 91
const NEST_FLAGS = 0x0008 | 0x0004 | 0x0002 | 0x0001

/** Makes the digest of a slice's facts. */
export function buildDigest(facts: Facts): ArrayBuffer {
  return new DigestBuilder(facts).build()
}

class DigestBuilder {
  readonly #facts: Facts
  /** Digest ids by text, and by the facts' own ids. */
  readonly #ids = new Map<string, number>()
  readonly #idOf: Int32Array
  /** The facts' id of "<init>". */
  readonly #constructorName: number
  readonly #strings: string[] = []
  /** How often the class at hand uses a type, at id * USE_KINDS + kind; `#used` says where it is not 0. */
  #counts = new Int32Array(1 << 16)
  #used: number[] = []
  readonly #uses: { type: number; class: number; kind: number; count: number }[] = []
  readonly #fieldTypes = new Map<number, readonly number[]>()
  readonly #methodTypes = new Map<number, MethodTypeIds>()

  constructor(facts: Facts) {
    this.#facts = facts
    this.#idOf = new Int32Array(facts.strings.count).fill(-1)
    const names = Array.from({ length: facts.strings.count }, (_, id) => id)
    this.#constructorName = names.find((id) => isConstructorName(facts.strings.bytesOf(id))) ?? -1
  }

  build(): ArrayBuffer {
    const { classes, methods, interfaces } = this.#facts
    const tables = {
      classes: {
        name: map(classes.name, classes.count, (id) => this.#id(id)),
        superName: map(classes.superName, classes.count, (id) => this.#id(id)),
        accessFlags: this.#accessFlags(),
        traits: classes.traits,
        firstInterface: classes.firstInterface,
        firstMethod: classes.firstMethod,
        fieldCount: Uint16Array.from({ length: classes.count }, (_, row) => span(classes.firstField, row)),
      },
      interfaces: { name: map(interfaces.name, interfaces.count, (id) => this.#id(id)) },
      methods: {
        name: map(methods.name, methods.count, (id) => this.#id(id)),
        descriptor: map(methods.descriptor, methods.count, (id) => this.#id(id)),
        accessFlags: methods.accessFlags,
      },
      annotations: this.#annotations(),
      ...this.#usesByType(),
      ...this.#callees(),
    }
    return packTables(digestColumns, tables, this.#strings)
  }

  /** What InnerClasses says of visibility and `static` is the source's; the class's own flags know neither private nor protected. */
  #accessFlags(): Uint16Array {
    const { classes } = this.#facts
    return Uint16Array.from({ length: classes.count }, (_, row) => {
      const isNested = (classes.innerName[row] ?? -1) >= 0 || (classes.enclosingClass[row] ?? -1) >= 0
      const own = classes.accessFlags[row] ?? 0
      return isNested ? (own & ~NEST_FLAGS) | ((classes.innerAccessFlags[row] ?? 0) & NEST_FLAGS) : own
    })
  }

  #usesByType() {
    const { classes } = this.#facts
    for (let row = 0; row < classes.count; row++) {
      this.#signatureUses(row)
      this.#codeUses(row)
      this.#otherUses(row)
      this.#endClass(row)
    }
    const order = this.#uses.toSorted((a, b) => a.type - b.type || a.class - b.class || a.kind - b.kind)
    const { keys, first } = groups(order.map(({ type }) => type))
    return {
      types: { name: keys, firstUse: first },
      uses: {
        class: Uint16Array.from(order, (use) => use.class),
        kind: Uint8Array.from(order, (use) => use.kind),
        count: Int32Array.from(order, (use) => use.count),
      },
    }
  }

  #signatureUses(row: number): void {
    const { classes, interfaces, fields, methods } = this.#facts
    if ((classes.superName[row] ?? -1) >= 0) this.#use(this.#id(classes.superName[row] ?? -1), USE.EXTENDS)
    for (const each of range(classes.firstInterface, row)) {
      this.#use(this.#id(interfaces.name[each] ?? -1), USE.IMPLEMENTS)
    }
    for (const each of range(classes.firstField, row)) {
      for (const type of this.#typesOfField(each, fields)) this.#use(type, USE.FIELD)
    }
    for (const each of range(classes.firstMethod, row)) {
      const { parameters, returns } = this.#typesOfMethod(each, methods)
      for (const parameter of parameters) for (const type of parameter) this.#use(type, USE.PARAM)
      for (const type of returns) this.#use(type, USE.RETURN)
    }
  }

  #codeUses(row: number): void {
    const { classes, methods, calls, fieldAccesses, typeReferences, exceptions } = this.#facts
    const constructorName = this.#constructorName
    for (const method of range(classes.firstMethod, row)) {
      for (const each of range(methods.firstCall, method)) {
        const owner = calls.owner[each] ?? -1
        // What a constructor is called on is an INSTANTIATION, or the superclass; an array is no class of its own.
        const isReceiver = !this.#isArray(owner) && calls.name[each] !== constructorName
        this.#use(this.#typeId(owner), isReceiver ? USE.CALL_RECEIVER : USE.OTHER)
      }
      for (const each of range(methods.firstFieldAccess, method)) {
        this.#use(this.#typeId(fieldAccesses.owner[each] ?? -1), USE.OTHER)
      }
      for (const each of range(methods.firstTypeReference, method)) {
        const isNew = typeReferences.opcode[each] === NEW
        this.#use(this.#typeId(typeReferences.name[each] ?? -1), isNew ? USE.INSTANTIATION : USE.OTHER)
      }
      for (const each of range(methods.firstException, method)) {
        this.#use(this.#id(exceptions.name[each] ?? -1), USE.OTHER)
      }
    }
  }

  /** Annotations, and whatever else the class file names. */
  #otherUses(row: number): void {
    const { classes, annotations, references } = this.#facts
    for (const each of range(classes.firstAnnotation, row)) {
      const type = annotations.type[each] ?? -1
      if (type < 0) continue
      const isOnMember = (annotations.targetKind[each] ?? 0) <= TARGET.RECORD_COMPONENT
      this.#use(this.#id(type), isOnMember ? USE.ANNOTATION : USE.OTHER)
    }
    for (const each of range(classes.firstReference, row)) {
      const type = this.#id(references.name[each] ?? -1)
      if (!this.#isUsed(type)) this.#use(type, USE.OTHER)
    }
  }

  #isUsed(type: number): boolean {
    for (let kind = 0; kind < USE_KINDS; kind++)
      if ((this.#counts[type * USE_KINDS + kind] ?? 0) > 0) return true
    return false
  }

  #use(type: number, kind: number): void {
    if (type < 0) return
    const at = type * USE_KINDS + kind
    if (at >= this.#counts.length) {
      const larger = new Int32Array(2 * at)
      larger.set(this.#counts)
      this.#counts = larger
    }
    if (this.#counts[at] === 0) this.#used.push(at)
    this.#counts[at] = (this.#counts[at] ?? 0) + 1
  }

  #endClass(row: number): void {
    const self = this.#id(this.#facts.classes.name[row] ?? -1)
    for (const at of this.#used) {
      const type = Math.floor(at / USE_KINDS)
      if (type !== self) {
        this.#uses.push({ type, class: row, kind: at % USE_KINDS, count: this.#counts[at] ?? 0 })
      }
      this.#counts[at] = 0
    }
    this.#used = []
  }

  #callees() {
    const { classes, methods, calls, dynamicCalls, strings } = this.#facts
    const pairs = new Map<number, number[]>()
    for (let row = 0; row < classes.count; row++) {
      const add = (owner: number, name: number): void => {
        const pair = owner * strings.count + name
        const callers = pairs.get(pair)
        if (callers === undefined) pairs.set(pair, [row])
        else if (callers.at(-1) !== row) callers.push(row)
      }
      for (const method of range(classes.firstMethod, row)) {
        for (const each of range(methods.firstCall, method))
          add(calls.owner[each] ?? 0, calls.name[each] ?? 0)
        for (const each of range(methods.firstDynamicCall, method)) {
          const owner = dynamicCalls.handleOwner[each] ?? -1
          if (owner >= 0) add(owner, dynamicCalls.handleName[each] ?? 0)
        }
      }
    }
    const rows = [...pairs].map(([pair, callers]) => ({
      owner: this.#id(Math.floor(pair / strings.count)),
      name: this.#id(pair % strings.count),
      callers,
    }))
    rows.sort((a, b) => a.owner - b.owner || a.name - b.name)
    const first = new Int32Array(rows.length + 1)
    for (const [index, { callers }] of rows.entries()) first[index + 1] = (first[index] ?? 0) + callers.length
    return {
      callees: {
        owner: Int32Array.from(rows, ({ owner }) => owner),
        name: Int32Array.from(rows, ({ name }) => name),
        firstCaller: first,
      },
      callers: { class: Uint16Array.from(rows.flatMap(({ callers }) => callers)) },
    }
  }

  #annotations() {
    const { classes, annotations } = this.#facts
    const rows: { type: number; class: number; row: number }[] = []
    for (let owner = 0; owner < classes.count; owner++) {
      for (const row of range(classes.firstAnnotation, owner)) {
        const isOnMember = (annotations.targetKind[row] ?? 0) <= TARGET.RECORD_COMPONENT
        if (isOnMember) rows.push({ type: this.#id(annotations.type[row] ?? -1), class: owner, row })
      }
    }
    rows.sort((a, b) => a.type - b.type || a.row - b.row)
    return {
      type: Int32Array.from(rows, ({ type }) => type),
      class: Uint16Array.from(rows, (each) => each.class),
      row: Int32Array.from(rows, ({ row }) => row),
    }
  }

  #typesOfField(row: number, { descriptor, signature }: Facts['fields']): readonly number[] {
    const text = ownOr(signature[row], descriptor[row])
    let types = this.#fieldTypes.get(text)
    if (types === undefined) {
      types = classesIn(this.#facts.strings.get(text)).map((name) => this.#idOfText(name))
      this.#fieldTypes.set(text, types)
    }
    return types
  }

  /** From the signature, where it has as many parameters as the descriptor: compilers leave those of their own making out. */
  #typesOfMethod(row: number, { descriptor, signature }: Facts['methods']): MethodTypeIds {
    const erased = this.#methodTypeIds(descriptor[row] ?? -1)
    if ((signature[row] ?? -1) < 0) return erased
    const full = this.#methodTypeIds(signature[row] ?? -1)
    return full.parameters.length === erased.parameters.length ? full : { ...erased, returns: full.returns }
  }

  #methodTypeIds(text: number): MethodTypeIds {
    let types = this.#methodTypes.get(text)
    if (types === undefined) {
      const { parameters, returns }: MethodTypes = methodTypes(this.#facts.strings.get(text))
      const ids = (names: readonly string[]) => names.map((name) => this.#idOfText(name))
      types = { parameters: parameters.map(ids), returns: ids(returns) }
      this.#methodTypes.set(text, types)
    }
    return types
  }

  #isArray(id: number): boolean {
    return this.#facts.strings.bytesOf(id)[0] === OPENING_BRACKET
  }

  /** The digest's id of a class name that may be an array's descriptor: that of its element class, -1 for primitives. */
  #typeId(id: number): number {
    if (id < 0 || !this.#isArray(id)) return this.#id(id)
    const [element] = classesIn(this.#facts.strings.get(id))
    return element === undefined ? -1 : this.#idOfText(element)
  }

  #id(id: number): number {
    if (id < 0) return -1
    let own = this.#idOf[id] ?? -1
    if (own < 0) {
      own = this.#idOfText(this.#facts.strings.get(id))
      this.#idOf[id] = own
    }
    return own
  }

  #idOfText(text: string): number {
    let id = this.#ids.get(text)
    if (id === undefined) {
      id = this.#strings.push(text) - 1
      this.#ids.set(text, id)
    }
    return id
  }
}

function isConstructorName(bytes: Uint8Array): boolean {
  return bytes.length === 6 && bytes[0] === 60 && Buffer.from(bytes).toString() === '<init>'
}

interface MethodTypeIds {
  readonly parameters: readonly (readonly number[])[]
  readonly returns: readonly number[]
}

/** The rows that belong to a row, from a column `first…`. */
function* range(first: Int32Array, row: number): Generator<number> {
  const end = first[row + 1] ?? 0
  for (let each = first[row] ?? 0; each < end; each++) yield each
}

function span(first: Int32Array, row: number): number {
  return Math.min((first[row + 1] ?? 0) - (first[row] ?? 0), 0xffff)
}

function ownOr(own: number | undefined, other: number | undefined): number {
  return own !== undefined && own >= 0 ? own : (other ?? -1)
}

function map(ids: Int32Array, count: number, to: (id: number) => number): Int32Array {
  const mapped = new Int32Array(count)
  for (let row = 0; row < count; row++) mapped[row] = to(ids[row] ?? -1)
  return mapped
}

/** The distinct keys of a sorted list, and where the rows of each begin, with the end of the last. */
function groups(sorted: readonly number[]): { keys: Int32Array; first: Int32Array } {
  const first: number[] = []
  for (const [row, key] of sorted.entries()) if (row === 0 || sorted[row - 1] !== key) first.push(row)
  return {
    keys: Int32Array.from(first, (row) => sorted[row] ?? 0),
    first: Int32Array.from([...first, sorted.length]),
  }
}
