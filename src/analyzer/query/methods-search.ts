import { TARGET } from '../bytecode/columns.ts'
import { textOf } from '../bytecode/string-table.ts'
import type { DigestTables } from '../index/digest.ts'
import { countingPlaces } from './annotation-closure.ts'
import { ACC } from '../bytecode/access-flags.ts'
import { methodView } from './class-show.ts'
import { classNameTest, nameTest, packageTest } from './name-tests.ts'
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

interface Found {
  readonly id: number
  readonly method: number
}

/** Methods that pass a filter, by class and then in the class file's order; those that the compiler made are left out. */
export function searchMethods(snapshot: Snapshot, filter: MethodFilter, paging: Paging) {
  const test = methodTest(snapshot, filter)
  const found: Found[] = []
  for (const id of classesFor(snapshot, filter)) {
    const { digest, firstClass } = snapshot.index.sliceOf(id)
    const { methods, classes } = digest
    const end = classes.firstMethod[id - firstClass + 1] ?? 0
    for (let method = classes.firstMethod[id - firstClass] ?? 0; method < end; method++) {
      if (test(methods, id, method)) found.push({ id, method })
    }
  }
  const { rows, ...page } = pageOf(found, paging, ({ id, method }) => {
    const slice = snapshot.index.sliceOf(id)
    const classFqn = snapshot.fqnOf(id)
    return {
      classFqn,
      classSimpleName: simpleNameOf(classFqn),
      classSource: slice.source,
      method: methodView(snapshot.facts(slice), id - slice.firstClass, method),
    }
  })
  return { methods: rows, ...page }
}

function classesFor(snapshot: Snapshot, filter: MethodFilter): Int32Array {
  const { index } = snapshot
  const inPackage = filter.package === undefined ? undefined : packageTest(snapshot, filter.package)
  const inClass = filter.class === undefined ? undefined : classNameTest(snapshot, filter.class)
  return index.byName().filter((id) => {
    if (!snapshot.counts(id, filter.includeLibraries)) return false
    const name = index.nameIdOf(id)
    return inPackage?.(name) !== false && inClass?.(name) !== false
  })
}

type MethodTest = (methods: DigestTables['methods'], id: number, method: number) => boolean

function methodTest(snapshot: Snapshot, { name, returnType, annotation }: MethodFilter): MethodTest {
  const { names } = snapshot.index
  const hasName = name === undefined ? undefined : nameTest(snapshot, bytesWildcard(name))
  const returns = returnType === undefined ? undefined : returnTest(snapshot, returnType)
  const annotated = annotation === undefined ? undefined : methodsWith(snapshot, annotation)
  const [constructor, initializer] = [names.find('<init>'), names.find('<clinit>')]
  return (methods, id, method) => {
    const nameId = methods.name[method] ?? -1
    if (hasName?.(nameId) === false || returns?.(methods.returns[method] ?? -1) === false) return false
    if (((methods.accessFlags[method] ?? 0) & ACC.SYNTHETIC) !== 0) return false
    if (nameId === constructor || nameId === initializer) return false
    return annotated?.has(methodKey(id, method)) !== false
  }
}

/** Whether a method's erased return type, by its descriptor's id, is the one asked for. */
export function returnTest(snapshot: Snapshot, returnType: string): (descriptor: number) => boolean {
  const fits = wildcard(returnType)
  return nameTest(snapshot, (bytes, start, end) => {
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
