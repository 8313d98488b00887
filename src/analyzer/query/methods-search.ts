import { ACC } from '../bytecode/access-flags.ts'
import { TARGET } from '../bytecode/columns.ts'
import { rows } from '../bytecode/facts.ts'
import type { DigestTables } from '../index/digest.ts'
import { countingPlaces } from './annotation-closure.ts'
import { methodView } from './class-show.ts'
import { kept } from './kept.ts'
import { classNameTest, methodNames, type NameSet, packageTest, returnTypes } from './name-tests.ts'
import { simpleNameOf } from './names.ts'
import { pageOfGroups, type Paging } from './page.ts'
import type { Snapshot } from './snapshot.ts'

export interface MethodFilter {
  /** Patterns with `*`. */
  readonly name?: string | undefined
  readonly package?: string | undefined
  readonly class?: string | undefined
  /** Erased; by its full or its simple name, `*` for any text. */
  readonly returnType?: string | undefined
  readonly annotation?: string | undefined
  readonly includeLibraries: boolean
}

/** Methods that pass a filter, by class and then in the class file's order; those that the compiler made are left out. */
export function searchMethods(snapshot: Snapshot, filter: MethodFilter, paging: Paging) {
  const { index } = snapshot
  const inClass = classTest(snapshot, filter)
  const found = new MethodTests(snapshot, filter)
  /** By class id. */
  const counts = new Int32Array(index.classCount)
  for (const { digest, source, firstClass } of index.slices) {
    if (!filter.includeLibraries && source !== 'PROJECT') continue
    const { firstMethod } = digest.classes
    let row = 0
    for (const method of found.candidates(digest.methods)) {
      while (method >= (firstMethod[row + 1] ?? 0)) row++
      const id = firstClass + row
      if (found.has(digest.methods, method, id) && inClass(id)) counts[id] = (counts[id] ?? 0) + 1
    }
  }
  const { rows: methods, ...page } = pageOfGroups(
    kept(index.byName(), (id) => counts[id] !== 0),
    (id) => counts[id] ?? 0,
    paging,
    (id) => {
      const slice = index.sliceOf(id)
      const classFqn = snapshot.fqnOf(id)
      const ofClass = { classFqn, classSimpleName: simpleNameOf(classFqn), classSource: slice.source }
      const row = id - slice.firstClass
      return rows(slice.digest.classes.firstMethod, row)
        .filter((method) => found.has(slice.digest.methods, method, id))
        .map((method) => ({ ...ofClass, method: methodView(snapshot.facts(slice), row, method) }))
    },
  )
  return { methods, ...page }
}

function classTest(snapshot: Snapshot, filter: MethodFilter): (id: number) => boolean {
  const { index } = snapshot
  const inPackage = filter.package === undefined ? undefined : packageTest(snapshot, filter.package)
  const inClass = filter.class === undefined ? undefined : classNameTest(snapshot, filter.class)
  return (id) => {
    const name = index.nameIdOf(id)
    return inPackage?.(name) !== false && inClass?.(name) !== false && !index.isHidden(id)
  }
}

type Methods = DigestTables['methods']

class MethodTests {
  readonly #names: NameSet | undefined
  readonly #returns: NameSet | undefined
  readonly #annotated: ReadonlySet<string> | undefined
  readonly #instanceInitializer: number | undefined
  readonly #classInitializer: number | undefined

  constructor(snapshot: Snapshot, { name, returnType, annotation }: MethodFilter) {
    const { names } = snapshot.index
    this.#names = name === undefined ? undefined : methodNames(snapshot, name)
    this.#returns = returnType === undefined ? undefined : returnTypes(snapshot, returnType)
    this.#annotated = annotation === undefined ? undefined : methodsWith(snapshot, annotation)
    this.#instanceInitializer = names.find('<init>')
    this.#classInitializer = names.find('<clinit>')
  }

  /** Of a slice, by the test that leaves fewest: a million methods are looked at. */
  candidates({ name, returns, count }: Methods): readonly number[] {
    const column = this.#names === undefined ? returns : name
    const set = this.#names ?? this.#returns
    const found: number[] = []
    for (let method = 0; method < count; method++)
      if (set === undefined || set[column[method] ?? -1] === 1) found.push(method)
    return found
  }

  has({ name, returns, accessFlags }: Methods, method: number, id: number): boolean {
    const nameId = name[method] ?? -1
    if (this.#names?.[nameId] === 0 || this.#returns?.[returns[method] ?? -1] === 0) return false
    if (nameId === this.#instanceInitializer || nameId === this.#classInitializer) return false
    if (((accessFlags[method] ?? 0) & ACC.SYNTHETIC) !== 0) return false
    return this.#annotated?.has(methodKey(id, method)) !== false
  }
}

/** The methods that carry an annotation, directly or by one that carries it. */
export function methodsWith(snapshot: Snapshot, annotation: string): ReadonlySet<string> {
  const found = new Set<string>()
  const type = snapshot.findName(annotation)
  if (type === undefined) return found
  for (const { id, targetKind, target } of countingPlaces(snapshot, type)) {
    if (targetKind === TARGET.METHOD) found.add(methodKey(id, target))
  }
  return found
}

export function methodKey(id: number, method: number): string {
  return `${id} ${method}`
}
