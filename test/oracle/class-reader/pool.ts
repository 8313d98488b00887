import { ClassFormatError } from './class-format-error.ts'
import type { ClassFile, PoolEntry } from './java-class-tools.ts'

/** The tags of JVMS §4.4. */
export const TAG = {
  UTF8: 1,
  INTEGER: 3,
  FLOAT: 4,
  LONG: 5,
  DOUBLE: 6,
  CLASS: 7,
  STRING: 8,
  FIELDREF: 9,
  METHODREF: 10,
  INTERFACE_METHODREF: 11,
  NAME_AND_TYPE: 12,
  METHOD_HANDLE: 15,
  METHOD_TYPE: 16,
  DYNAMIC: 17,
  INVOKE_DYNAMIC: 18,
  MODULE: 19,
  PACKAGE: 20,
} as const

export interface MemberRef {
  readonly owner: string
  readonly name: string
  readonly descriptor: string
  readonly isInterface: boolean
}

/**
 * Constant pool of one class file. Every method throws a ClassFormatError for an index with the wrong kind of
 * entry.
 */
export class Pool {
  readonly #entries: ClassFile['constant_pool']
  readonly #texts = new Map<number, string>()

  constructor(entries: ClassFile['constant_pool']) {
    this.#entries = entries
  }

  get count(): number {
    return this.#entries.length
  }

  /** Returns 0 for an index without entry. */
  tag(index: number): number {
    return this.#entries[index]?.tag ?? 0
  }

  utf8(index: number): string {
    const known = this.#texts.get(index)
    if (known !== undefined) return known
    const { bytes } = this.#get(index, TAG.UTF8)
    const text = decodeModifiedUtf8(bytes as readonly number[], index)
    this.#texts.set(index, text)
    return text
  }

  /** Returns the text of an entry with only a name: Class, String, MethodType, Module, Package. */
  text(index: number, tag: number): string {
    const { name_index: name, string_index: string, descriptor_index: descriptor } = this.#get(index, tag)
    return this.utf8(name ?? string ?? descriptor ?? 0)
  }

  className(index: number): string {
    return this.text(index, TAG.CLASS)
  }

  nameAndType(index: number): { readonly name: string; readonly descriptor: string } {
    const { name_index: name = 0, descriptor_index: descriptor = 0 } = this.#get(index, TAG.NAME_AND_TYPE)
    return { name: this.utf8(name), descriptor: this.utf8(descriptor) }
  }

  member(index: number): MemberRef {
    const tag = this.tag(index)
    if (tag !== TAG.FIELDREF && tag !== TAG.METHODREF && tag !== TAG.INTERFACE_METHODREF)
      this.fail(index, 'field or method')
    const { class_index: owner = 0, name_and_type_index: nameAndType = 0 } = this.#get(index, tag)
    return {
      owner: this.className(owner),
      ...this.nameAndType(nameAndType),
      isInterface: tag === TAG.INTERFACE_METHODREF,
    }
  }

  methodHandle(index: number): { readonly kind: number; readonly member: MemberRef } {
    const { reference_kind: kind = 0, reference_index: member = 0 } = this.#get(index, TAG.METHOD_HANDLE)
    if (kind < 1 || kind > 9) this.fail(index, 'method handle of kind 1 to 9')
    return { kind, member: this.member(member) }
  }

  /** Returns an InvokeDynamic or Dynamic. */
  dynamic(
    index: number,
    tag: typeof TAG.INVOKE_DYNAMIC | typeof TAG.DYNAMIC = TAG.INVOKE_DYNAMIC,
  ): {
    readonly bootstrapMethod: number
    readonly name: string
    readonly descriptor: string
  } {
    const entry = this.#get(index, tag)
    const { bootstrap_method_attr_index: bootstrapMethod = 0, name_and_type_index: nameAndType = 0 } = entry
    return { bootstrapMethod, ...this.nameAndType(nameAndType) }
  }

  /** The bits of an Integer or Float, as a signed number. */
  word(index: number, tag: number): number {
    return (this.#get(index, tag).bytes as number) | 0
  }

  /** Low and high half of a Long or Double, each signed. */
  twoWords(index: number, tag: number): readonly [low: number, high: number] {
    const { low_bytes: low = 0, high_bytes: high = 0 } = this.#get(index, tag)
    return [low | 0, high | 0]
  }

  fail(index: number, expected: string): never {
    throw new ClassFormatError(
      0,
      `constant ${index} is not a valid ${expected}, its tag is ${this.tag(index)}`,
    )
  }

  #get(index: number, tag: number): PoolEntry {
    const entry = this.#entries[index]
    if (entry?.tag !== tag) this.fail(index, `entry with tag ${tag}`)
    return entry
  }
}

/** Decodes JVMS §4.4.7; surrogates are encoded in three bytes each and join in the string. */
function decodeModifiedUtf8(bytes: readonly number[], index: number): string {
  const units: number[] = []
  const rest = (at: number) => {
    const byte = bytes[at]
    if (byte === undefined || (byte & 0xc0) !== 0x80)
      throw new ClassFormatError(0, `constant ${index} is not valid modified UTF-8`)
    return byte & 0x3f
  }
  for (let at = 0; at < bytes.length;) {
    const first = bytes[at] ?? 0
    if (first < 0x80) {
      units.push(first)
      at += 1
    } else if ((first & 0xe0) === 0xc0) {
      units.push(((first & 0x1f) << 6) | rest(at + 1))
      at += 2
    } else if ((first & 0xf0) === 0xe0) {
      units.push(((first & 0x0f) << 12) | (rest(at + 1) << 6) | rest(at + 2))
      at += 3
    } else {
      rest(-1)
    }
  }
  let text = ''
  // Maximum number of arguments of one call.
  for (let at = 0; at < units.length; at += 8192) text += String.fromCharCode(...units.slice(at, at + 8192))
  return text
}
