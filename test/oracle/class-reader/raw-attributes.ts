import { ClassFormatError } from './class-format-error.ts'
import type { Annotation, Attribute, ElementValue } from './java-class-tools.ts'

/** java-class-tools returns attributes added after Java 11 as raw bytes; this parses them like the others. */
export class RawBytes {
  readonly #bytes: readonly number[]
  #at = 0

  constructor(attribute: Attribute) {
    this.#bytes = attribute.info
  }

  u1(): number {
    const byte = this.#bytes[this.#at++]
    if (byte === undefined) throw new ClassFormatError(0, 'an attribute ends too early')
    return byte
  }

  u2(): number {
    return (this.u1() << 8) | this.u1()
  }

  /** Reads a list with a u2 count. */
  list<Item>(read: () => Item): Item[] {
    const items: Item[] = []
    for (let left = this.u2(); left > 0; left--) items.push(read())
    return items
  }

  /** Reads a nested attribute with a raw body. */
  attribute(): Attribute {
    const attribute_name_index = this.u2()
    const length = this.u2() * 65536 + this.u2()
    if (length > this.#bytes.length - this.#at) throw new ClassFormatError(0, 'an attribute ends too early')
    const info = this.#bytes.slice(this.#at, this.#at + length)
    this.#at += length
    return { attribute_name_index, info } as unknown as Attribute
  }

  annotation(): Annotation {
    return {
      type_index: this.u2(),
      element_value_pairs: this.list(() => ({
        element_name_index: this.u2(),
        element_value: this.elementValue(),
      })),
    }
  }

  /** Reads an annotation on a record component's type, target_type 0x13. */
  typeAnnotation(): Annotation {
    const target_type = this.u1()
    if (target_type !== 0x13)
      throw new ClassFormatError(0, `a component's annotation has the target type ${target_type}`)
    const path = Array.from({ length: this.u1() }, () => ({
      type_path_kind: this.u1(),
      type_argument_index: this.u1(),
    }))
    return { target_type, type_path: { path }, ...this.annotation() }
  }

  elementValue(): ElementValue {
    const tag = this.u1()
    switch (String.fromCharCode(tag)) {
      case 'e':
        return {
          tag,
          value: { enum_const_value: { type_name_index: this.u2(), const_name_index: this.u2() } },
        }
      case 'c':
        return { tag, value: { class_info_index: this.u2() } }
      case '@':
        return { tag, value: { annotation: this.annotation() } }
      case '[':
        return { tag, value: { array_value: { values: this.list(() => this.elementValue()) } } }
      default:
        if (!'BCDFIJSZs'.includes(String.fromCharCode(tag)))
          throw new ClassFormatError(0, `an element value has the unknown tag ${tag}`)
        return { tag, value: { const_value_index: this.u2() } }
    }
  }
}

/** Parses an attribute of a record component like java-class-tools would. */
export function readRecordAttribute(raw: Attribute, name: string): Attribute {
  const bytes = new RawBytes(raw)
  switch (name) {
    case 'Signature':
      return { ...raw, signature_index: bytes.u2() }
    case 'RuntimeVisibleAnnotations':
    case 'RuntimeInvisibleAnnotations':
      return { ...raw, annotations: bytes.list(() => bytes.annotation()) }
    case 'RuntimeVisibleTypeAnnotations':
    case 'RuntimeInvisibleTypeAnnotations':
      return { ...raw, annotations: bytes.list(() => bytes.typeAnnotation()) }
    default:
      return raw
  }
}
