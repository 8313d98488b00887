import { ACC } from '../bytecode/access-flags.ts'
import type { DigestTables } from './digest.ts'
import type { IndexedSlice } from './indexed-slice.ts'
import type { StringPool } from './string-pool.ts'

type Methods = DigestTables['methods']

/** Whether a method is the source's: no constructor, no static initializer and none that the compiler made. */
export function sourceMethodTest(names: StringPool): (methods: Methods, method: number) => boolean {
  const constructor = names.find('<init>')
  const initializer = names.find('<clinit>')
  return ({ name, accessFlags }, method) =>
    name[method] !== constructor &&
    name[method] !== initializer &&
    ((accessFlags[method] ?? 0) & ACC.SYNTHETIC) === 0
}

/**
 * The methods of the source by their names, or by the descriptors of what they return. Eight bytes a method, made when somebody
 * first searches so.
 */
export class MethodLookup {
  /** By the name's id: where its methods begin; at the next name they end. */
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

  /** Calls with the class's id and the method's row in its slice, in the order of the class path. */
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
