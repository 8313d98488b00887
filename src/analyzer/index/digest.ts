import {
  columnNames,
  copyTables,
  type Layout,
  openTables,
  type PackedTables,
  type Tables,
} from '../bytecode/tables.ts'

/**
 * Columns of a digest, which the server keeps in memory for each slice: enough to find classes, members and
 * uses, while details stay in the slice's facts. Strings are ids of the digest's own table, class names are
 * internal ("java/util/Map$Entry"), and -1 means "none".
 */
export const digestColumns = {
  /** Row i is row i of the facts' classes. */
  classes: {
    name: 'i32',
    superName: 'i32',
    /** Access flags from InnerClasses for nested classes, else the class's own. */
    accessFlags: 'u16',
    /** Bits of the facts' `TRAIT`. */
    traits: 'u8',
    firstInterface: 'i32',
    firstMethod: 'i32',
    /** Excludes constructors, static initializers and synthetic methods. */
    methodCount: 'u16',
    fieldCount: 'u16',
  },
  interfaces: { name: 'i32' },
  /** Row i is row i of the facts' methods. */
  methods: {
    name: 'i32',
    /** Descriptor of the return type. */
    returns: 'i32',
    accessFlags: 'u16',
  },
  /** Used types, in ascending order of name ids; their uses are the rows from `firstUse` on. */
  types: { name: 'i32', firstUse: 'i32' },
  /**
   * How often each class uses a type in each way, in the order of the classes; counts over 255 take several
   * rows.
   */
  uses: { class: 'u16', kind: 'u8', times: 'u8' },
  /** Methods that are called or referred to, with any descriptor, each once. */
  callees: { owner: 'i32', name: 'i32', firstCaller: 'i32' },
  /** In the order of the classes; counts over 255 take several rows. */
  callers: { class: 'u16', times: 'u8' },
  /** Annotations on classes and members. */
  annotations: {
    type: 'i32',
    class: 'u16',
    /** Row in the facts' annotations. */
    row: 'i32',
    /** Annotated element, as in the facts. */
    targetKind: 'u8',
    target: 'i32',
  },
  /** Row i is the hash of string i, computed as in string-pool.ts. */
  texts: { hash: 'i32' },
} as const satisfies Layout

/**
 * Ways in which a class uses a type. `REFERENCE_KINDS` names those that `xref` reports, in the same order.
 */
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
  /** FIELD, PARAM and RETURN of synthetic members. */
  SYNTHETIC_FIELD: 23,
  SYNTHETIC_PARAM: 24,
  SYNTHETIC_RETURN: 25,
  /** Any other mention: a superclass's constructor, an annotation's element … */
  OTHER: 26,
} as const
/** Number of kinds of uses. */
export const USE_KINDS = Object.keys(USE).length

/** A packed digest with its strings. */
export type Digest = PackedTables<typeof digestColumns>

/** Tables of a digest in memory, without strings. */
export type DigestTables = Tables<typeof digestColumns>

/** All columns in packed order. */
export const digestLayout: string = columnNames(digestColumns).join(' ')

/** Opens a packed digest. @throws Error when the buffer has another layout */
export function openDigest(buffer: ArrayBuffer): Digest {
  return openTables(digestColumns, buffer)
}

/** Copies a digest without its strings to separate memory. @throws as `openDigest` */
export function copyDigest({ buffer }: Digest): DigestTables {
  return copyTables(digestColumns, buffer)
}
