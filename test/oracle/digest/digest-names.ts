import type { StringTable } from '../../../src/analyzer/bytecode/string-table.ts'
import { StringPool } from '../../../src/analyzer/index/string-pool.ts'
import {
  readField,
  readMethod,
  readTypeArguments,
  readTypeParameters,
  RETURN,
} from '../../../src/analyzer/index/type-names.ts'

const [BRACKET, LESS, CLOSE] = [0x5b, 0x3c, 0x29]
const CONSTRUCTOR_LENGTH = '<init>'.length
const NONE: readonly number[] = []

/** Ids of the types in a method's signature. */
interface MethodTypeIds {
  /** Types of all parameters, one parameter after the other, distinct within each. */
  readonly parameters: readonly number[]
  readonly returns: readonly number[]
}

/**
 * Strings of a digest: those of a slice's facts that it needs, and the class names inside descriptors. -1
 * stays -1.
 */
export class DigestNames {
  readonly pool = new StringPool()
  readonly #bytes: Uint8Array
  readonly #offsets: Int32Array
  /** By the facts' ids. */
  readonly #idOf: Int32Array
  readonly #elements = new Map<number, number>()
  readonly #fields = new Map<string, readonly number[]>()
  readonly #typeParameters = new Map<string, readonly number[]>()
  readonly #typeArguments = new Map<string, readonly number[]>()
  readonly #methods = new Map<string, MethodTypeIds>()
  readonly #returns = new Map<number, number>()

  constructor({ bytes, offsets, count }: StringTable) {
    this.#bytes = bytes
    this.#offsets = offsets
    this.#idOf = new Int32Array(count).fill(-1)
  }

  /** Returns the digest's id of a string of the facts. */
  idOf(id: number): number {
    if (id < 0) return -1
    const known = this.#idOf[id] ?? -1
    if (known >= 0) return known
    const own = this.pool.idOf(this.#bytes, this.#start(id), this.#end(id))
    this.#idOf[id] = own
    return own
  }

  /** Returns the id of a class name in code, which may be an array's descriptor. */
  isArray(id: number): boolean {
    return this.#startsWith(id, BRACKET)
  }

  /** "<init>", and not "<clinit>": other names have no "<" (JVMS §4.2.2). */
  isConstructor(id: number): boolean {
    return this.#startsWith(id, LESS) && this.#end(id) - this.#start(id) === CONSTRUCTOR_LENGTH
  }

  /** Constructors and static initializers (JVMS §4.2.2). */
  isSpecial(id: number): boolean {
    return this.#startsWith(id, LESS)
  }

  /**
   * Returns the id of a class name that may be an array's descriptor: that of its element class, or -1 for a
   * primitive.
   */
  elementOf(id: number): number {
    if (id < 0 || !this.isArray(id)) return this.idOf(id)
    let element = this.#elements.get(id)
    if (element === undefined) {
      element = this.typesOfField(id, -1)[0] ?? -1
      this.#elements.set(id, element)
    }
    return element
  }

  /** The types in a field's descriptor and signature. */
  typesOfField(descriptor: number, signature: number): readonly number[] {
    if (descriptor < 0) return NONE
    return this.#cached(this.#fields, `${descriptor} ${signature}`, (add) => {
      readField(this.#text(descriptor), add)
      if (signature >= 0) readField(this.#text(signature), add)
    })
  }

  /** The types in the bounds of a signature's type parameters. */
  typesOfParameters(signature: number): readonly number[] {
    return this.#cached(this.#typeParameters, `${signature}`, (add) =>
      readTypeParameters(this.#text(signature), add),
    )
  }

  /** The types in the type arguments of a class's supertypes. */
  typesOfArguments(signature: number): readonly number[] {
    return this.#cached(this.#typeArguments, `${signature}`, (add) =>
      readTypeArguments(this.#text(signature), add),
    )
  }

  /** From the descriptor and the signature, which omits compiler-generated parameters. */
  typesOfMethod(descriptor: number, signature: number): MethodTypeIds {
    const key = `${descriptor} ${signature}`
    const known = this.#methods.get(key)
    if (known !== undefined) return known
    const parameters: number[] = []
    const returns: number[] = []
    let place = 0
    let first = 0
    readMethod(this.#text(descriptor), signature < 0 ? undefined : this.#text(signature), (at, name) => {
      const type = this.#idOfText(name)
      if (at === RETURN) {
        if (!returns.includes(type)) returns.push(type)
        return
      }
      if (at !== place) [place, first] = [at, parameters.length]
      if (!parameters.includes(type, first)) parameters.push(type)
    })
    const types = { parameters, returns }
    this.#methods.set(key, types)
    return types
  }

  /** The return type in a method's descriptor, itself a descriptor. */
  returnOf(descriptor: number): number {
    let type = this.#returns.get(descriptor)
    if (type === undefined) {
      const end = this.#end(descriptor)
      type = this.pool.idOf(this.#bytes, this.#bytes.lastIndexOf(CLOSE, end - 1) + 1, end)
      this.#returns.set(descriptor, type)
    }
    return type
  }

  #cached(
    cache: Map<string, readonly number[]>,
    key: string,
    read: (add: (name: string) => void) => void,
  ): readonly number[] {
    let types = cache.get(key)
    if (types === undefined) {
      const found = new Set<number>()
      read((name) => found.add(this.#idOfText(name)))
      types = [...found]
      cache.set(key, types)
    }
    return types
  }

  /** Text with one character per byte. */
  #text(id: number): string {
    return Buffer.from(this.#bytes.subarray(this.#start(id), this.#end(id))).toString('latin1')
  }

  #idOfText(text: string): number {
    const bytes = Buffer.from(text, 'latin1')
    return this.pool.idOf(bytes, 0, bytes.length)
  }

  #startsWith(id: number, byte: number): boolean {
    const start = this.#start(id)
    return id >= 0 && start < this.#end(id) && this.#bytes[start] === byte
  }

  #start(id: number): number {
    return this.#offsets[id] ?? 0
  }

  #end(id: number): number {
    return this.#offsets[id + 1] ?? 0
  }
}
