import { CONSTANT, TARGET, TRAIT } from '../bytecode/columns.ts'
import { type Facts, rows } from '../bytecode/facts.ts'
import { annotationsOn, valueView } from '../query/annotations/annotation-value.ts'
import { ACC } from '../bytecode/access-flags.ts'

/** A method or constructor. */
export interface ApiMethod {
  readonly name: string
  readonly descriptor: string
  readonly flags: number
  /** Internal names. */
  readonly exceptions: readonly string[]
}

/** A field or enum constant. */
export interface ApiField {
  readonly name: string
  readonly descriptor: string
  readonly flags: number
  /** Kind and value of a constant: "INT 5". */
  readonly constant: string | undefined
}

/** The part of a class that other classes can use. Names are internal. */
export interface ApiClass {
  readonly name: string
  /** A nested class has the flags of its declaration, including `static`, `private` and `protected`. */
  readonly flags: number
  readonly superName: string | undefined
  readonly interfaces: readonly string[]
  readonly outerClass: string | undefined
  /** Local and anonymous classes have no name that others could use. */
  readonly isNameless: boolean
  /** Undefined if it is not sealed. */
  readonly permitted: readonly string[] | undefined
  /** Components such as "double radius"; undefined if it is not a record. */
  readonly components: readonly { readonly name: string; readonly descriptor: string }[] | undefined
  /** SOURCE, CLASS or RUNTIME; only for an annotation interface. */
  readonly retention: string | undefined
  /** Keyed by name and descriptor. */
  readonly methods: ReadonlyMap<string, ApiMethod>
  /** Keyed by name and descriptor. */
  readonly fields: ReadonlyMap<string, ApiField>
}

const RETENTION = 'java/lang/annotation/Retention'
/** Flags in a class file's header that an entry of InnerClasses does not replace. */
const HEAD_FLAGS = ACC.SYNTHETIC | ACC.ANNOTATION | ACC.ENUM | ACC.INTERFACE | ACC.MODULE

/** Extracts the API of a class from its facts. */
export function apiClass(facts: Facts, row: number): ApiClass {
  const { classes, interfaces, permittedSubclasses, recordComponents, strings } = facts
  const text = (id = -1): string | undefined => (id < 0 ? undefined : strings.get(id))
  const traits = classes.traits[row] ?? 0
  const head = classes.accessFlags[row] ?? 0
  const isNested = (classes.outerClass[row] ?? -1) >= 0 || (classes.innerAccessFlags[row] ?? 0) !== 0
  const flags = isNested ? (classes.innerAccessFlags[row] ?? 0) | (head & HEAD_FLAGS) : head
  return {
    name: strings.get(classes.name[row] ?? 0),
    flags,
    superName: text(classes.superName[row]),
    interfaces: rows(classes.firstInterface, row).map((each) => strings.get(interfaces.name[each] ?? 0)),
    outerClass: text(classes.outerClass[row]),
    isNameless: (classes.enclosingClass[row] ?? -1) >= 0,
    permitted:
      traits & TRAIT.SEALED
        ? rows(classes.firstPermittedSubclass, row).map((each) =>
            strings.get(permittedSubclasses.name[each] ?? 0),
          )
        : undefined,
    components:
      traits & TRAIT.RECORD
        ? rows(classes.firstRecordComponent, row).map((each) => ({
            name: strings.get(recordComponents.name[each] ?? 0),
            descriptor: strings.get(recordComponents.descriptor[each] ?? 0),
          }))
        : undefined,
    retention: flags & ACC.ANNOTATION ? retentionOf(facts, row) : undefined,
    methods: byKey(rows(classes.firstMethod, row).map((each) => methodOf(facts, each))),
    fields: byKey(rows(classes.firstField, row).map((each) => fieldOf(facts, each))),
  }
}

function keyOf({ name, descriptor }: { readonly name: string; readonly descriptor: string }): string {
  return `${name} ${descriptor}`
}

function byKey<Member extends ApiMethod | ApiField>(members: readonly Member[]): ReadonlyMap<string, Member> {
  return new Map(members.map((member) => [keyOf(member), member]))
}

function methodOf({ methods, exceptions, strings }: Facts, row: number): ApiMethod {
  return {
    name: strings.get(methods.name[row] ?? 0),
    descriptor: strings.get(methods.descriptor[row] ?? 0),
    flags: methods.accessFlags[row] ?? 0,
    exceptions: rows(methods.firstException, row).map((each) => strings.get(exceptions.name[each] ?? 0)),
  }
}

function fieldOf({ fields, strings }: Facts, row: number): ApiField {
  const kind = fields.constantKind[row] ?? 0
  const value = fields.constant[row] ?? 0
  const constant =
    kind === CONSTANT.STRING
      ? JSON.stringify(strings.get(value))
      : numberOf(kind, value, fields.constantHigh[row] ?? 0)
  return {
    name: strings.get(fields.name[row] ?? 0),
    descriptor: strings.get(fields.descriptor[row] ?? 0),
    flags: fields.accessFlags[row] ?? 0,
    constant: kind === 0 ? undefined : constant,
  }
}

function numberOf(kind: number, low: number, high: number): string {
  const view = new DataView(new ArrayBuffer(8))
  view.setInt32(0, high)
  view.setInt32(4, low)
  if (kind === CONSTANT.LONG) return String(view.getBigInt64(0))
  if (kind === CONSTANT.DOUBLE) return String(view.getFloat64(0))
  return String(kind === CONSTANT.FLOAT ? view.getFloat32(4) : low)
}

/** Returns the retention of an annotation interface; CLASS is the default (JLS 9.6.4.2). */
function retentionOf(facts: Facts, row: number): string {
  const { annotations, elements, strings } = facts
  const found = annotationsOn(facts, row, TARGET.CLASS, row).find(
    (each) => strings.get(annotations.type[each] ?? 0) === RETENTION,
  )
  const value =
    found === undefined ? undefined : valueView(facts, annotations.elementStart[found] ?? elements.count)
  return value?.kind === 'ENUM' ? value.value : 'CLASS'
}
