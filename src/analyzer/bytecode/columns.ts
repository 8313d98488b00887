import type { Layout } from './tables.ts'

/**
 * All tables of a slice's facts with their columns, in packed order. native/classfile/facts.h declares the
 * same tables, and a reader that disagrees is not used. Row i of a table is element i of each of its columns.
 *
 * - A column without a note is a string id, or the number that JVMS calls by that name. -1 means "none" in
 * every i32.
 * - Class names are internal ("java/util/Map$Entry"); where an array is possible, its descriptor ("[I").
 * - `first…` is the index of a row's first row in the named table; its rows extend to the first row of the
 * next, so the column has one element more than its table has rows.
 * - `accessFlags` are those of JVMS; the Synthetic attribute counts as ACC_SYNTHETIC.
 * - `line` is from LineNumberTable, the last entry at or before the instruction; -1 without one.
 */
export const columns = {
  classes: {
    /** Index of the class file in the slice, from 0. A class file with an error has no row. */
    input: 'i32',
    majorVersion: 'u16',
    minorVersion: 'u16',
    accessFlags: 'u16',
    /** Bits of `TRAIT`. */
    traits: 'u8',
    name: 'i32',
    /** None for java/lang/Object and modules. */
    superName: 'i32',
    /** Raw, not checked by the JVM. */
    signature: 'i32',
    sourceFile: 'i32',
    /** From the class's own entry in InnerClasses: none for top-level, local and anonymous classes. */
    outerClass: 'i32',
    /** Also from InnerClasses; none for anonymous classes. */
    innerName: 'i32',
    /**
     * Also from InnerClasses: a nested class's real access flags, including `static`. 0 for a top-level
     * class.
     */
    innerAccessFlags: 'u16',
    /** From EnclosingMethod: set for local and anonymous classes. */
    enclosingClass: 'i32',
    enclosingMethod: 'i32',
    enclosingDescriptor: 'i32',
    nestHost: 'i32',
    firstInterface: 'i32',
    firstPermittedSubclass: 'i32',
    firstNestMember: 'i32',
    firstInnerClass: 'i32',
    firstRecordComponent: 'i32',
    firstModuleDirective: 'i32',
    firstField: 'i32',
    firstMethod: 'i32',
    firstReference: 'i32',
    firstAnnotation: 'i32',
  },
  /** Direct superinterfaces, in order. */
  interfaces: { name: 'i32' },
  permittedSubclasses: { name: 'i32' },
  nestMembers: { name: 'i32' },
  /**
   * Every class that the class file names in any way, except itself, each once: pool entries, descriptors,
   * signatures, annotations. Arrays count as their element class.
   */
  references: { name: 'i32' },
  /** The `throws` of methods. */
  exceptions: { name: 'i32' },
  /** All entries of InnerClasses. */
  innerClasses: { innerClass: 'i32', outerClass: 'i32', innerName: 'i32', accessFlags: 'u16' },
  recordComponents: { name: 'i32', descriptor: 'i32', signature: 'i32' },
  /** The Module attribute. Several targets make several rows; `kind` is of `DIRECTIVE`. */
  moduleDirectives: {
    kind: 'u8',
    /** Module, required module, package, or service class. */
    name: 'i32',
    flags: 'u16',
    /** Version (MODULE, REQUIRES), module that a package is exported or opened to, or provider class. */
    target: 'i32',
  },
  fields: {
    name: 'i32',
    descriptor: 'i32',
    signature: 'i32',
    accessFlags: 'u16',
    traits: 'u8',
    /** ConstantValue: of `CONSTANT`, 0 without one; then as in `arguments`. */
    constantKind: 'u8',
    constant: 'i32',
    constantHigh: 'i32',
  },
  methods: {
    name: 'i32',
    descriptor: 'i32',
    signature: 'i32',
    accessFlags: 'u16',
    traits: 'u8',
    /** The lowest and the highest line of its LineNumberTable. */
    firstLine: 'i32',
    lastLine: 'i32',
    firstException: 'i32',
    firstParameter: 'i32',
    firstCall: 'i32',
    firstFieldAccess: 'i32',
    firstTypeReference: 'i32',
    firstDynamicCall: 'i32',
  },
  /**
   * From MethodParameters unchanged; or one row for each parameter of the descriptor with the names of
   * LocalVariableTable (TRAIT.DEBUG_NAMES); or no rows.
   */
  parameters: { name: 'i32', accessFlags: 'u16' },
  /** invokevirtual, invokespecial, invokestatic and invokeinterface, in the order of the code. */
  calls: {
    /** Class named in the bytecode: the receiver's static type, an array's descriptor for `int[].clone()`. */
    owner: 'i32',
    name: 'i32',
    descriptor: 'i32',
    opcode: 'u8',
    /** 1 if the pool entry is an InterfaceMethodref, for any opcode. */
    isInterface: 'u8',
    line: 'i32',
    firstArgument: 'i32',
  },
  /** Constant arguments of calls; arguments of unknown value have no row. */
  arguments: {
    /** Index of the parameter in the descriptor, from 0. */
    index: 'u8',
    /** Of `CONSTANT`. */
    kind: 'u8',
    /** INT: the number; FLOAT: its bits; STRING and CLASS: a string id; LONG and DOUBLE: the low 32 bits. */
    value: 'i32',
    /** LONG and DOUBLE: the high 32 bits. */
    high: 'i32',
  },
  /** getstatic, putstatic, getfield and putfield. */
  fieldAccesses: { owner: 'i32', name: 'i32', descriptor: 'i32', opcode: 'u8', line: 'i32' },
  /** Opcode new, anewarray, multianewarray, checkcast or instanceof; ldc (18) for a class literal; 0 for a caught class. */
  typeReferences: { name: 'i32', opcode: 'u8', line: 'i32' },
  /** invokedynamic. */
  dynamicCalls: {
    name: 'i32',
    descriptor: 'i32',
    /** The bootstrap method, for example java/lang/invoke/LambdaMetafactory and metafactory. */
    bootstrapOwner: 'i32',
    bootstrapName: 'i32',
    /**
     * reference_kind (JVMS §4.4.8) of the first method handle among the static arguments, 0 without one. With
     * LambdaMetafactory it refers to the lambda's body or the referenced method.
     */
    handleKind: 'u8',
    handleIsInterface: 'u8',
    handleOwner: 'i32',
    handleName: 'i32',
    handleDescriptor: 'i32',
    line: 'i32',
  },
  annotations: {
    /** Of `TARGET`. */
    targetKind: 'u8',
    /** Row in the table of that kind; a method's for PARAMETER, PARAMETER_TYPE and ANNOTATION_DEFAULT. */
    target: 'i32',
    /**
     * PARAMETER, PARAMETER_TYPE: index in the attribute, which can differ from the descriptor's (JVMS
     * §4.7.18). Other types: the number of the type parameter, supertype (-1 for the superclass), exception
     * or type argument.
     */
    parameter: 'i32',
    /** PARAMETER: num_parameters of the attribute; the bound of a type parameter: its number; else 0. */
    parameterCount: 'i32',
    /** On a type: target_type (JVMS table 4.7.20-A and -B), else 0. */
    position: 'u8',
    /** On a part of a type: the steps of type_path, "[" array, "." nested, "*" wildcard, "0;" type argument 0. */
    path: 'i32',
    /** Class name; none for ANNOTATION_DEFAULT. */
    type: 'i32',
    /** 1 from RuntimeVisible…, 0 from RuntimeInvisible…Annotations. */
    isVisible: 'u8',
    /** Its rows in `elements`. */
    elementStart: 'i32',
    elementCount: 'i32',
  },
  elements: {
    /** None for an array's items and for ANNOTATION_DEFAULT. */
    name: 'i32',
    /** The character code of JVMS §4.7.16.1: one of "BCDFIJSZsec@[". */
    tag: 'u8',
    /**
     * B C I S Z: the number; F: bits; s: string id; D J: low 32 bits; e: the constant's name; c: return descriptor;
     * @: row in `annotations`; [: first row of its items here.
     */
    value: 'i32',
    /** D J: high 32 bits; e: the type's descriptor; [: number of items. */
    high: 'i32',
  },
} as const satisfies Layout

/** Bits of `traits`. */
export const TRAIT = { DEPRECATED: 1, RECORD: 2, SEALED: 4, HAS_CODE: 8, DEBUG_NAMES: 16 } as const

/** Kinds of module directives. */
export const DIRECTIVE = { MODULE: 0, REQUIRES: 1, EXPORTS: 2, OPENS: 3, USES: 4, PROVIDES: 5 } as const

/** Kinds of constants. */
export const CONSTANT = { INT: 1, LONG: 2, FLOAT: 3, DOUBLE: 4, STRING: 5, CLASS: 6 } as const

/** Opcodes of type references, field accesses and calls (JVMS §6.5). */
export const OPCODE = {
  /** No instruction: an entry of the exception table. */
  CATCH: 0,
  LDC: 18,
  GETSTATIC: 178,
  PUTSTATIC: 179,
  GETFIELD: 180,
  PUTFIELD: 181,
  INVOKESTATIC: 184,
  NEW: 187,
  ANEWARRAY: 189,
  CHECKCAST: 192,
  INSTANCEOF: 193,
  MULTIANEWARRAY: 197,
} as const

/** Kinds of annotation targets. */
export const TARGET = {
  CLASS: 0,
  FIELD: 1,
  METHOD: 2,
  PARAMETER: 3,
  RECORD_COMPONENT: 4,
  ANNOTATION_DEFAULT: 5,
  /** Value of an element of another annotation; `target` is that annotation's row. */
  ANNOTATION: 6,
  /** On a type in a class's, field's or method's declaration or code (JVMS §4.7.20). */
  CLASS_TYPE: 7,
  FIELD_TYPE: 8,
  METHOD_TYPE: 9,
  PARAMETER_TYPE: 10,
  RECORD_COMPONENT_TYPE: 11,
  /**
   * On a type; a copy of an annotation with one of the kinds above, because its annotation type applies to
   * both declarations and types.
   */
  REPEATED_ON_TYPE: 12,
} as const
