import {
  columnNames,
  copyTables,
  type Layout,
  openTables,
  type PackedTables,
  type Tables,
} from '../bytecode/tables.ts'

/**
 * What the server keeps in memory of a slice: enough to find classes, members and who uses what; the details stay in the
 * slice's facts. Strings are ids of the digest's own table, class names internal ("java/util/Map$Entry"), -1 for "none".
 */
export const digestColumns = {
  /** Row i is row i of the facts' classes. */
  classes: {
    name: 'i32',
    superName: 'i32',
    /** The access in InnerClasses for nested classes, else the class's own. */
    accessFlags: 'u16',
    /** Bits of the facts' `TRAIT`. */
    traits: 'u8',
    firstInterface: 'i32',
    firstMethod: 'i32',
    /** Without constructors, static initializers and what the compiler made. */
    methodCount: 'u16',
    fieldCount: 'u16',
  },
  interfaces: { name: 'i32' },
  /** Row i is row i of the facts' methods. */
  methods: {
    name: 'i32',
    /** The return type's descriptor. */
    returns: 'i32',
    accessFlags: 'u16',
  },
  /** Types that are used, by name's id in rising order; their uses are the rows from `firstUse` on. */
  types: { name: 'i32', firstUse: 'i32' },
  /** How often each class uses a type in each way, in the order of the classes; more than 255 times takes several rows. */
  uses: { class: 'u16', kind: 'u8', times: 'u8' },
  /** Methods that are called or referred to, whatever their descriptors, each once. */
  callees: { owner: 'i32', name: 'i32', firstCaller: 'i32' },
  /** In the order of the classes; more than 255 times takes several rows. */
  callers: { class: 'u16', times: 'u8' },
  /** Annotations on classes and members. */
  annotations: {
    type: 'i32',
    class: 'u16',
    /** Row in the facts' annotations. */
    row: 'i32',
    /** What it stands on, as in the facts. */
    targetKind: 'u8',
    target: 'i32',
  },
  /** Row i is string i: its hash, as string-pool.ts makes it. */
  texts: { hash: 'i32' },
} as const satisfies Layout

/** How a class uses a type. `REFERENCE_KINDS` names those that `xref` reports, in the same order. */
export const USE = {
  EXTENDS: 0,
  IMPLEMENTS: 1,
  FIELD: 2,
  PARAM: 3,
  RETURN: 4,
  ANNOTATION: 5,
  INSTANTIATION: 6,
  CALL_RECEIVER: 7,
  THROWS: 8,
  PERMITS: 9,
  RECORD_COMPONENT: 10,
  /** A bound of a type parameter of the class or of a method. */
  TYPE_PARAMETER: 11,
  /** A type argument of a supertype. */
  TYPE_ARGUMENT: 12,
  /** A service or its provider in a module declaration. */
  SERVICE: 13,
  FIELD_READ: 14,
  FIELD_WRITE: 15,
  CAST: 16,
  INSTANCEOF: 17,
  ARRAY_CREATION: 18,
  CLASS_LITERAL: 19,
  CATCH: 20,
  METHOD_REFERENCE: 21,
  /** The functional interface that a lambda or method reference implements. */
  LAMBDA: 22,
  /** FIELD, PARAM and RETURN of members that the compiler made. */
  SYNTHETIC_FIELD: 23,
  SYNTHETIC_PARAM: 24,
  SYNTHETIC_RETURN: 25,
  /** Named in any other way: a superclass's constructor, an annotation's element … */
  OTHER: 26,
} as const
export const USE_KINDS = Object.keys(USE).length

export type Digest = PackedTables<typeof digestColumns>

/** A digest in memory. */
export type DigestTables = Tables<typeof digestColumns>

/** The columns in packed order. */
export const digestLayout: string = columnNames(digestColumns).join(' ')

/** @throws Error when the buffer is no digest of this layout */
export function openDigest(buffer: ArrayBuffer): Digest {
  return openTables(digestColumns, buffer)
}

/** Without the strings, in memory of its own. @throws as `openDigest` */
export function copyDigest({ buffer }: Digest): DigestTables {
  return copyTables(digestColumns, buffer)
}
