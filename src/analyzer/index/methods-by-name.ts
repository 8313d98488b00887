import { ACC } from '../bytecode/access-flags.ts'
import type { DigestTables } from './digest.ts'
import type { IndexedSlice } from './indexed-slice.ts'
import type { StringPool } from './string-pool.ts'

type Methods = DigestTables['methods']

/**
 * The methods of the source by their names: constructors, static initializers and what the compiler made are left out. Eight
 * bytes a method, made when somebody first searches.
 */
export class MethodsByName {
  /** By name: where its methods begin; at the next name they end. */
  readonly #first: Int32Array
  readonly #classes: Int32Array
  readonly #rows: Int32Array
  readonly #instanceInitializer: number | undefined
  readonly #classInitializer: number | undefined

  constructor(slices: readonly IndexedSlice[], names: StringPool) {
    this.#instanceInitializer = names.find('<init>')
    this.#classInitializer = names.find('<clinit>')
    const first = new Int32Array(names.count + 1)
    this.#forEach(slices, (name) => (first[name + 1] = (first[name + 1] ?? 0) + 1))
    for (let name = 0; name < names.count; name++)
      first[name + 1] = (first[name + 1] ?? 0) + (first[name] ?? 0)
    this.#first = first
    this.#classes = new Int32Array(first[names.count] ?? 0)
    this.#rows = new Int32Array(this.#classes.length)
    const next = first.slice()
    this.#forEach(slices, (name, id, method) => {
      const at = next[name] ?? 0
      next[name] = at + 1
      this.#classes[at] = id
      this.#rows[at] = method
    })
  }

  isOfSource({ name, accessFlags }: Methods, method: number): boolean {
    if (name[method] === this.#instanceInitializer || name[method] === this.#classInitializer) return false
    return ((accessFlags[method] ?? 0) & ACC.SYNTHETIC) === 0
  }

  /** Calls with the class's id and the method's row in its slice, in the order of the class path. */
  forEachOf(name: number, use: (id: number, method: number) => void): void {
    const end = this.#first[name + 1] ?? 0
    for (let at = this.#first[name] ?? 0; at < end; at++) use(this.#classes[at] ?? 0, this.#rows[at] ?? 0)
  }

  #forEach(slices: readonly IndexedSlice[], use: (name: number, id: number, method: number) => void): void {
    for (const { digest, firstClass } of slices) {
      const { methods, classes } = digest
      for (let row = 0; row < classes.count; row++) {
        const end = classes.firstMethod[row + 1] ?? 0
        for (let method = classes.firstMethod[row] ?? 0; method < end; method++)
          if (this.isOfSource(methods, method)) use(methods.name[method] ?? 0, firstClass + row, method)
      }
    }
  }
}
