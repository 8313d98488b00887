import type { StringTable } from '../bytecode/string-table.ts'
import { classesIn, methodTypes } from './type-names.ts'

const OPENING_BRACKET = 0x5b
const NONE: readonly number[] = []

/** Ids of types, by place in a method's signature. */
interface MethodTypeIds {
  readonly parameters: readonly (readonly number[])[]
  readonly returns: readonly number[]
}

/** The strings of a digest: those of a slice's facts that it needs, and the class names inside descriptors. -1 stays -1. */
export class DigestNames {
  readonly texts: string[] = []
  /** The facts' id of "<init>", or -1. */
  readonly constructorName: number
  readonly #strings: StringTable
  readonly #ids = new Map<string, number>()
  readonly #idOf: Int32Array
  readonly #isArray: Uint8Array
  readonly #elements = new Map<number, number>()
  readonly #fields = new Map<number, readonly number[]>()
  readonly #methods = new Map<number, MethodTypeIds>()

  constructor(strings: StringTable) {
    this.#strings = strings
    this.#idOf = new Int32Array(strings.count).fill(-1)
    this.#isArray = new Uint8Array(strings.count)
    let constructorName = -1
    for (let id = 0; id < strings.count; id++) {
      const bytes = strings.bytesOf(id)
      if (bytes[0] === OPENING_BRACKET) this.#isArray[id] = 1
      else if (bytes.length === 6 && bytes[0] === 0x3c && strings.get(id) === '<init>') constructorName = id
    }
    this.constructorName = constructorName
  }

  /** The digest's id of one of the facts' strings. */
  idOf(id: number): number {
    if (id < 0) return -1
    const known = this.#idOf[id] ?? -1
    if (known >= 0) return known
    const own = this.#intern(this.#strings.get(id))
    this.#idOf[id] = own
    return own
  }

  isArray(id: number): boolean {
    return this.#isArray[id] === 1
  }

  /** The same for a class name that may be an array's descriptor: its element class, or -1 for a primitive. */
  elementOf(id: number): number {
    if (!this.isArray(id)) return this.idOf(id)
    let element = this.#elements.get(id)
    if (element === undefined) {
      const [name] = classesIn(this.#strings.get(id))
      element = name === undefined ? -1 : this.#intern(name)
      this.#elements.set(id, element)
    }
    return element
  }

  /** The types in a field's signature, or in its descriptor where it has none. */
  typesOfField(descriptor: number, signature: number): readonly number[] {
    const text = signature >= 0 ? signature : descriptor
    if (text < 0) return NONE
    let types = this.#fields.get(text)
    if (types === undefined) {
      types = classesIn(this.#strings.get(text)).map((name) => this.#intern(name))
      this.#fields.set(text, types)
    }
    return types
  }

  /** From the signature, where it has as many parameters as the descriptor: compilers leave those of their own making out. */
  typesOfMethod(descriptor: number, signature: number): MethodTypeIds {
    const erased = this.#methodTypes(descriptor)
    if (signature < 0) return erased
    const full = this.#methodTypes(signature)
    return full.parameters.length === erased.parameters.length ? full : { ...erased, returns: full.returns }
  }

  #methodTypes(text: number): MethodTypeIds {
    let types = this.#methods.get(text)
    if (types === undefined) {
      const { parameters, returns } = methodTypes(this.#strings.get(text))
      const ids = (names: readonly string[]) => names.map((name) => this.#intern(name))
      types = { parameters: parameters.map(ids), returns: ids(returns) }
      this.#methods.set(text, types)
    }
    return types
  }

  #intern(text: string): number {
    let id = this.#ids.get(text)
    if (id === undefined) {
      id = this.texts.push(text) - 1
      this.#ids.set(text, id)
    }
    return id
  }
}
