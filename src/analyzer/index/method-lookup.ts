import { ACC } from '../bytecode/access-flags.ts'
import type { DigestTables } from './digest.ts'
import type { IndexedSlice } from './indexed-slice.ts'
import type { StringPool } from './string-pool.ts'

type Methods = DigestTables['methods']

/** Returns a test for source methods: not constructors, static initializers or synthetic methods. */
export function sourceMethodTest(names: StringPool): (methods: Methods, method: number) => boolean {
  const constructor = names.find('<init>')
  const initializer = names.find('<clinit>')
  return ({ name, accessFlags }, method) =>
    name[method] !== constructor &&
    name[method] !== initializer &&
    ((accessFlags[method] ?? 0) & ACC.SYNTHETIC) === 0
}

/**
 * Source methods by name or by return descriptor. Takes eight bytes per method; created by the first search
 * that needs it.
 */
export class MethodLookup {
  /** Index of each name's first method, by name id; they extend to those of the next name. */
  readonly #first: Int32Array
  readonly #classes: Int32Array
  readonly #rows: Int32Array

  constructor(column: 'name' | 'returns', slices: readonly IndexedSlice[], names: StringPool) {
    const isOfSource = sourceMethodTest(names)
    const forEach = (use: (name: number, id: number, method: number) => void) =>
      forEachOfSource(slices, isOfSource, (methods, id, method) =>
        use(methods[column][method] ?? 0, id, method),
      )
    const first = new Int32Array(names.count + 1)
    forEach((name) => (first[name + 1] = (first[name + 1] ?? 0) + 1))
    for (let name = 0; name < names.count; name++)
      first[name + 1] = (first[name + 1] ?? 0) + (first[name] ?? 0)
    this.#first = first
    this.#classes = new Int32Array(first[names.count] ?? 0)
    this.#rows = new Int32Array(this.#classes.length)
    const next = first.slice()
    forEach((name, id, method) => {
      const at = next[name] ?? 0
      next[name] = at + 1
      this.#classes[at] = id
      this.#rows[at] = method
    })
  }

  /** Calls `use` with the class's id and the method's row in its slice, in class path order. */
  forEachOf(name: number, use: (id: number, method: number) => void): void {
    const end = this.#first[name + 1] ?? 0
    for (let at = this.#first[name] ?? 0; at < end; at++) use(this.#classes[at] ?? 0, this.#rows[at] ?? 0)
  }
}

function forEachOfSource(
  slices: readonly IndexedSlice[],
  isOfSource: ReturnType<typeof sourceMethodTest>,
  use: (methods: Methods, id: number, method: number) => void,
): void {
  for (const { digest, firstClass } of slices) {
    const { methods, classes } = digest
    for (let row = 0; row < classes.count; row++) {
      const end = classes.firstMethod[row + 1] ?? 0
      for (let method = classes.firstMethod[row] ?? 0; method < end; method++)
        if (isOfSource(methods, method)) use(methods, firstClass + row, method)
    }
  }
}
