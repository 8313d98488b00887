import type { StringTable } from '../../../src/analyzer/bytecode/string-table.ts'
import { StringPool } from '../../../src/analyzer/index/string-pool.ts'
import { readField, readMethod, RETURN } from '../../../src/analyzer/index/type-names.ts'

const [BRACKET, LESS, CLOSE] = [0x5b, 0x3c, 0x29]
const CONSTRUCTOR_LENGTH = '<init>'.length
const NONE: readonly number[] = []

/** Ids of the types in a method's signature. */
interface MethodTypeIds {
  readonly parameterCount: number
  /** One parameter's after the other, each once in each. */
  readonly parameters: readonly number[]
  readonly returns: readonly number[]
}

/** The strings of a digest: those of a slice's facts that it needs, and the class names inside descriptors. -1 stays -1. */
export class DigestNames {
  readonly pool = new StringPool()
  readonly #bytes: Uint8Array
  readonly #offsets: Int32Array
  /** By the facts' ids. */
  readonly #idOf: Int32Array
  readonly #elements = new Map<number, number>()
  readonly #fields = new Map<number, readonly number[]>()
  readonly #methods = new Map<number, MethodTypeIds>()
  readonly #returns = new Map<number, number>()

  constructor({ bytes, offsets, count }: StringTable) {
    this.#bytes = bytes
    this.#offsets = offsets
    this.#idOf = new Int32Array(count).fill(-1)
  }

  /** The digest's id of one of the facts' strings. */
  idOf(id: number): number {
    if (id < 0) return -1
    const known = this.#idOf[id] ?? -1
    if (known >= 0) return known
    const own = this.pool.idOf(this.#bytes, this.#start(id), this.#end(id))
    this.#idOf[id] = own
    return own
  }

  /** Of a class name in code: that may be an array's descriptor. */
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

  /** As `idOf` for a class name that may be an array's descriptor: its element class, or -1 for a primitive. */
  elementOf(id: number): number {
    if (id < 0 || !this.isArray(id)) return this.idOf(id)
    let element = this.#elements.get(id)
    if (element === undefined) {
      element = this.#fieldTypes(id)[0] ?? -1
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
      types = this.#fieldTypes(text)
      this.#fields.set(text, types)
    }
    return types
  }

  /** From the signature, where it has as many parameters as the descriptor: compilers leave those of their own making out. */
  typesOfMethod(descriptor: number, signature: number): MethodTypeIds {
    const erased = this.#methodTypes(descriptor)
    if (signature < 0) return erased
    const full = this.#methodTypes(signature)
    return full.parameterCount === erased.parameterCount ? full : { ...erased, returns: full.returns }
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

  #fieldTypes(id: number): readonly number[] {
    const types: number[] = []
    readField(this.#bytes, this.#start(id), this.#end(id), (...name) => {
      const type = this.pool.idOf(...name)
      if (!types.includes(type)) types.push(type)
    })
    return types
  }

  #methodTypes(id: number): MethodTypeIds {
    let types = this.#methods.get(id)
    if (types === undefined) {
      const parameters: number[] = []
      const returns: number[] = []
      let place = 0
      let first = 0
      const parameterCount = readMethod(this.#bytes, this.#start(id), this.#end(id), (at, ...name) => {
        const type = this.pool.idOf(...name)
        if (at === RETURN) {
          if (!returns.includes(type)) returns.push(type)
          return
        }
        if (at !== place) [place, first] = [at, parameters.length]
        if (!parameters.includes(type, first)) parameters.push(type)
      })
      types = { parameterCount, parameters, returns }
      this.#methods.set(id, types)
    }
    return types
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
