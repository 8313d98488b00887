import { TARGET } from '../bytecode/columns.ts'
import { textOf } from '../bytecode/string-table.ts'
import type { DigestTables } from '../index/digest.ts'
import { countingPlaces } from './annotation-closure.ts'
import { ACC } from '../bytecode/access-flags.ts'
import { methodView } from './class-show.ts'
import { classNameFits, classNameTest, nameTest, packageTest } from './name-tests.ts'
import { simpleNameOf, typeOfDescriptor } from './names.ts'
import { pageOf, type Paging } from './page.ts'
import type { Snapshot } from './snapshot.ts'
import { bytesWildcard, wildcard } from './wildcard.ts'

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

/** More than a slice has methods. */
const METHODS = 2 ** 24

/** Methods that pass a filter, by class and then in the class file's order; those that the compiler made are left out. */
export function searchMethods(snapshot: Snapshot, filter: MethodFilter, paging: Paging) {
  const { index } = snapshot
  const isIn = classTest(snapshot, filter)
  const test = methodTest(snapshot, filter)
  const ranks = index.ranks()
  /** A class's rank and the method as one number each, so that they sort as numbers do. */
  const found: number[] = []
  for (const { digest, source, firstClass } of index.slices) {
    if (!filter.includeLibraries && source !== 'PROJECT') continue
    const { methods, classes } = digest
    let row = 0
    for (let method = 0; method < methods.count; method++) {
      if (!test.byName(methods, method)) continue
      while (method >= (classes.firstMethod[row + 1] ?? 0)) row++
      const id = firstClass + row
      if (isIn(id) && test.byAnnotation(id, method)) found.push((ranks[id] ?? 0) * METHODS + method)
    }
  }
  const { rows, ...page } = pageOf(Float64Array.from(found).toSorted(), paging, (each) => {
    const id = index.byName()[Math.floor(each / METHODS)] ?? 0
    const slice = index.sliceOf(id)
    const classFqn = snapshot.fqnOf(id)
    return {
      classFqn,
      classSimpleName: simpleNameOf(classFqn),
      classSource: slice.source,
      method: methodView(snapshot.facts(slice), id - slice.firstClass, each % METHODS),
    }
  })
  return { methods: rows, ...page }
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

function methodTest(snapshot: Snapshot, { name, returnType, annotation }: MethodFilter) {
  const { names } = snapshot.index
  const hasName = name === undefined ? undefined : nameTest(snapshot, bytesWildcard(name))
  const returns = returnType === undefined ? undefined : returnTest(snapshot, returnType)
  const annotated = annotation === undefined ? undefined : methodsWith(snapshot, annotation)
  const [constructor, initializer] = [names.find('<init>'), names.find('<clinit>')]
  return {
    byName: ({ name: nameOf, returns: returnOf, accessFlags }: DigestTables['methods'], method: number) => {
      const nameId = nameOf[method] ?? -1
      if (hasName?.(nameId) === false || returns?.(returnOf[method] ?? -1) === false) return false
      if (nameId === constructor || nameId === initializer) return false
      return ((accessFlags[method] ?? 0) & ACC.SYNTHETIC) === 0
    },
    byAnnotation: (id: number, method: number) => annotated?.has(methodKey(id, method)) !== false,
  }
}

const CLASS = 'L'.charCodeAt(0)

/** Whether a method's erased return type, by its descriptor's id, is the one asked for. */
export function returnTest(snapshot: Snapshot, returnType: string): (descriptor: number) => boolean {
  const classFits = classNameFits(returnType)
  const fits = wildcard(returnType)
  return nameTest(snapshot, (bytes, start, end) => {
    if (bytes[start] === CLASS) return classFits(bytes, start + 1, end - 1)
    const type = typeOfDescriptor(textOf(bytes, start, end))
    return fits(type) || fits(simpleNameOf(type))
  })
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
