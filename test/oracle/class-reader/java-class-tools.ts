import { JavaClassFileReader } from 'java-class-tools'

// Actual results of java-class-tools 1.3; its own types are outdated.

export interface PoolEntry {
  readonly tag: number
  /** Utf8: its bytes; Integer and Float: 32 bits without sign. */
  readonly bytes?: readonly number[] | number
  readonly high_bytes?: number
  readonly low_bytes?: number
  readonly name_index?: number
  readonly string_index?: number
  readonly class_index?: number
  readonly name_and_type_index?: number
  readonly descriptor_index?: number
  readonly reference_kind?: number
  readonly reference_index?: number
  readonly bootstrap_method_attr_index?: number
}

export interface ElementValue {
  readonly tag: number
  readonly value: {
    readonly const_value_index?: number
    readonly class_info_index?: number
    readonly enum_const_value?: { readonly type_name_index: number; readonly const_name_index: number }
    readonly annotation?: Annotation
    readonly array_value?: { readonly values: readonly ElementValue[] }
  }
}

export interface Annotation {
  /** RuntimeVisible- and RuntimeInvisibleTypeAnnotations. */
  readonly target_type?: number
  readonly target_info?: {
    readonly type_parameter_index?: number
    readonly supertype_index?: number
    readonly bound_index?: number
    readonly formal_parameter_index?: number
    readonly throws_type_index?: number
    readonly type_argument_index?: number
  }
  readonly type_path?: {
    readonly path: readonly { readonly type_path_kind: number; readonly type_argument_index: number }[]
  }
  readonly type_index: number
  readonly element_value_pairs: readonly {
    readonly element_name_index: number
    readonly element_value: ElementValue
  }[]
}

/** Any attribute; the fields that its name implies are present. */
export interface Attribute {
  readonly attribute_name_index: number
  readonly annotations: readonly Annotation[]
  readonly attributes: readonly Attribute[]
  readonly bootstrap_methods: readonly {
    readonly bootstrap_method_ref: number
    readonly bootstrap_arguments: readonly number[]
  }[]
  /** InnerClasses. NestMembers has plain indices under the same name. */
  readonly classes: readonly {
    readonly inner_class_info_index: number
    readonly outer_class_info_index: number
    readonly inner_name_index: number
    readonly inner_class_access_flags: number
  }[]
  readonly class_index: number
  readonly code: readonly number[]
  readonly constantvalue_index: number
  readonly default_value: ElementValue
  readonly exception_index_table: readonly number[]
  readonly exception_table: readonly { readonly handler_pc: number; readonly catch_type: number }[]
  readonly exports: readonly ModulePackage[]
  readonly host_class_index: number
  /** Raw bytes of an attribute that the library does not support. */
  readonly info: readonly number[]
  readonly line_number_table: readonly { readonly start_pc: number; readonly line_number: number }[]
  readonly local_variable_table: readonly {
    readonly start_pc: number
    readonly name_index: number
    readonly index: number
  }[]
  readonly max_locals: number
  readonly max_stack: number
  readonly method_index: number
  readonly module_flags: number
  readonly module_name_index: number
  readonly module_version_index: number
  readonly opens: readonly ModulePackage[]
  readonly parameter_annotations: readonly { readonly annotations: readonly Annotation[] }[]
  readonly parameters: readonly { readonly name_index: number; readonly access_flags: number }[]
  readonly provides: readonly {
    readonly provides_index: number
    readonly provides_with_index: readonly number[]
  }[]
  readonly requires: readonly {
    readonly requires_index: number
    readonly requires_flags: number
    readonly requires_version_index: number
  }[]
  readonly signature_index: number
  readonly sourcefile_index: number
  readonly uses_index: readonly number[]
}

interface ModulePackage {
  readonly exports_index?: number
  readonly exports_flags?: number
  readonly exports_to_index?: readonly number[]
  readonly opens_index?: number
  readonly opens_flags?: number
  readonly opens_to_index?: readonly number[]
}

export interface Member {
  readonly access_flags: number
  readonly name_index: number
  readonly descriptor_index: number
  readonly attributes: readonly Attribute[]
}

export interface ClassFile {
  readonly major_version: number
  readonly minor_version: number
  readonly constant_pool_count: number
  readonly constant_pool: readonly (PoolEntry | undefined)[]
  readonly access_flags: number
  readonly this_class: number
  readonly super_class: number
  readonly interfaces: readonly number[]
  readonly fields: readonly Member[]
  readonly methods: readonly Member[]
  readonly attributes: readonly Attribute[]
}

/** Parses a class file. @throws Error or RangeError when it is not valid */
export function readClassFile(bytes: Uint8Array): ClassFile {
  return new JavaClassFileReader().read(bytes) as unknown as ClassFile
}
