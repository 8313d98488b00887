import { TARGET } from '../../bytecode/columns.ts'
import { rows } from '../../bytecode/facts.ts'
import type { DigestTables } from '../../index/digest.ts'
import { type MethodLookup, sourceMethodTest } from '../../index/method-lookup.ts'
import type { NameList, NameSet } from '../../index/name-list.ts'
import type { ProjectIndex } from '../../index/project-index.ts'
import { matchingAnnotations } from '../annotations/annotation-closure.ts'
import { methodView } from './class-show.ts'
import { filterIds } from '../filter-ids.ts'
import { classNameTest, methodNames, packageTest, returnTypes } from '../name-tests.ts'
import { simpleNameOf } from '../names.ts'
import { pageOfGroups, type Paging } from '../paging.ts'
import type { Snapshot } from '../snapshot.ts'

/** Filter of methods. */
export interface MethodFilter {
  /** Patterns with `*`. */
  readonly name?: string | undefined
  readonly package?: string | undefined
  readonly class?: string | undefined
  /** Erased type, by full or simple name; `*` matches any text. */
  readonly returnType?: string | undefined
  readonly annotation?: string | undefined
  readonly includeLibraries: boolean
}

/**
 * Returns the methods that match a filter, sorted by class and then in the class file's order; omits
 * synthetic methods.
 */
export function searchMethods(snapshot: Snapshot, filter: MethodFilter, paging: Paging) {
  const { index } = snapshot
  const inClass = classTest(snapshot, filter)
  const wanted = new WantedMethods(snapshot, filter)
  /** Matching methods by class id. */
  const counts = new Int32Array(index.classCount)
  wanted.forEach((id) => {
    if (inClass(id)) counts[id] = (counts[id] ?? 0) + 1
  })
  const { rows: methods, ...page } = pageOfGroups(
    filterIds(snapshot.classes(filter.includeLibraries), (id) => counts[id] !== 0),
    (id) => counts[id] ?? 0,
    paging,
    (id) => {
      const slice = index.sliceOf(id)
      const classFqn = snapshot.fqnOf(id)
      const ofClass = { classFqn, classSimpleName: simpleNameOf(classFqn), classSource: slice.source }
      const row = id - slice.firstClass
      return rows(slice.digest.classes.firstMethod, row)
        .filter((method) => wanted.has(slice.digest.methods, method, id))
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

/** Tests methods against a filter, except for the filter of classes. */
class WantedMethods {
  readonly #index: ProjectIndex
  readonly #isOfSource: ReturnType<typeof sourceMethodTest>
  readonly #names: NameSet | undefined
  readonly #returns: NameSet | undefined
  readonly #annotated: ReadonlySet<string> | undefined

  constructor(snapshot: Snapshot, { name, returnType, annotation }: MethodFilter) {
    this.#index = snapshot.index
    this.#isOfSource = sourceMethodTest(snapshot.index.names)
    this.#names = name === undefined ? undefined : methodNames(snapshot, name)
    this.#returns = returnType === undefined ? undefined : returnTypes(snapshot, returnType)
    this.#annotated = annotation === undefined ? undefined : methodsWith(snapshot, annotation)
  }

  has(methods: Methods, method: number, id: number): boolean {
    if (this.#names?.[methods.name[method] ?? -1] === 0) return false
    return this.#isOfSource(methods, method) && this.#passes(methods, method, id)
  }

  forEach(use: (id: number) => void): void {
    const index = this.#index
    if (this.#names !== undefined) {
      const isSure = this.#returns === undefined && this.#annotated === undefined
      this.#forEachOf(index.methodsByName(), index.methodNames(), this.#names, isSure, use)
    } else if (this.#returns !== undefined) {
      const isSure = this.#annotated === undefined
      this.#forEachOf(index.methodsByReturn(), index.returnTypes(), this.#returns, isSure, use)
    } else this.#forEachOfAll(use)
  }

  /** Visits only the methods with wanted names, of possibly a million. */
  #forEachOf(
    methods: MethodLookup,
    { ids }: NameList,
    wanted: NameSet,
    isSure: boolean,
    use: (id: number) => void,
  ): void {
    const add = isSure
      ? use
      : (id: number, method: number): void => {
          if (this.#passes(this.#index.sliceOf(id).digest.methods, method, id)) use(id)
        }
    for (const name of ids) if (wanted[name] === 1) methods.forEachOf(name, add)
  }

  #forEachOfAll(use: (id: number) => void): void {
    for (const { digest, firstClass } of this.#index.slices) {
      const { methods, classes } = digest
      let row = 0
      for (let method = 0; method < methods.count; method++) {
        while (method >= (classes.firstMethod[row + 1] ?? 0)) row++
        const id = firstClass + row
        if (this.#isOfSource(methods, method) && this.#passes(methods, method, id)) use(id)
      }
    }
  }

  #passes({ returns }: Methods, method: number, id: number): boolean {
    if (this.#returns?.[returns[method] ?? -1] === 0) return false
    return this.#annotated?.has(methodKey(id, method)) !== false
  }
}

/** Returns the methods with an annotation, directly or as a meta-annotation. */
export function methodsWith(snapshot: Snapshot, annotation: string): ReadonlySet<string> {
  const found = new Set<string>()
  const type = snapshot.findType(annotation)
  if (type === undefined) return found
  for (const { id, targetKind, target } of matchingAnnotations(snapshot, type)) {
    if (targetKind === TARGET.METHOD) found.add(methodKey(id, target))
  }
  return found
}

/** Returns a key for a method. */
export function methodKey(id: number, method: number): string {
  return `${id} ${method}`
}
