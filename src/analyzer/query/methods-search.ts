import { TARGET } from '../bytecode/columns.ts'
import { countingPlaces } from './annotation-closure.ts'
import { ACC } from './class-summary.ts'
import { methodView } from './class-show.ts'
import { packageOf, simpleNameOf, typesOfMethod } from './names.ts'
import { pageOf, type Paging } from './page.ts'
import type { Snapshot } from './snapshot.ts'
import { wildcard } from './wildcard.ts'

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
    const { firstMethod } = digest.classes
    for (
      let method = firstMethod[id - firstClass] ?? 0;
      method < (firstMethod[id - firstClass + 1] ?? 0);
      method++
    ) {
      if (test(id, method)) found.push({ id, method })
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
  const inPackage = filter.package === undefined ? undefined : wildcard(filter.package)
  const inClass = filter.class === undefined ? undefined : wildcard(filter.class)
  return snapshot.index.byName().filter((id) => {
    if (!snapshot.counts(id, filter.includeLibraries)) return false
    if (inPackage === undefined && inClass === undefined) return true
    const fqn = snapshot.fqnOf(id)
    if (inPackage !== undefined && !inPackage(packageOf(fqn))) return false
    return inClass === undefined || inClass(fqn) || inClass(simpleNameOf(fqn))
  })
}

function methodTest(snapshot: Snapshot, filter: MethodFilter): (id: number, method: number) => boolean {
  const { index } = snapshot
  const { name, returnType, annotation } = filter
  const hasName = name === undefined ? undefined : nameTest(snapshot, wildcard(name))
  const annotated = annotation === undefined ? undefined : methodsWith(snapshot, annotation)
  const returns = returnType === undefined ? undefined : returnTest(snapshot, returnType)
  return (id, method) => {
    const { digest, nameOf } = index.sliceOf(id)
    if (((digest.methods.accessFlags[method] ?? 0) & ACC.SYNTHETIC) !== 0) return false
    const nameId = nameOf[digest.methods.name[method] ?? -1] ?? -1
    if (index.names.get(nameId).startsWith('<')) return false
    if (hasName?.(nameId) === false || annotated?.has(methodKey(id, method)) === false) return false
    return returns?.(id, method) !== false
  }
}

/** Each name is looked at once, however many methods have it. */
function nameTest(snapshot: Snapshot, fits: (text: string) => boolean): (name: number) => boolean {
  const known = new Map<number, boolean>()
  return (name) => {
    let is = known.get(name)
    if (is === undefined) known.set(name, (is = fits(snapshot.index.names.get(name))))
    return is
  }
}

/** Whether a method's erased return type is the one asked for; descriptors are looked at once in each slice. */
export function returnTest(snapshot: Snapshot, returnType: string): (id: number, method: number) => boolean {
  const fits = wildcard(returnType)
  const known = new Map<object, Map<number, boolean>>()
  return (id, method) => {
    const { digest } = snapshot.index.sliceOf(id)
    let ofSlice = known.get(digest)
    if (ofSlice === undefined) known.set(digest, (ofSlice = new Map()))
    const descriptor = digest.methods.descriptor[method] ?? -1
    let is = ofSlice.get(descriptor)
    if (is === undefined) {
      const { returns } = typesOfMethod(digest.strings.get(descriptor))
      is = fits(returns) || fits(simpleNameOf(returns))
      ofSlice.set(descriptor, is)
    }
    return is
  }
}

/** The methods that carry an annotation, directly or by one that carries it. */
export function methodsWith(snapshot: Snapshot, annotation: string): ReadonlySet<string> {
  const found = new Set<string>()
  const type = snapshot.findName(annotation)
  if (type === undefined) return found
  for (const { slice, row, id } of countingPlaces(snapshot, type)) {
    const { annotations } = snapshot.facts(slice)
    if (annotations.targetKind[row] === TARGET.METHOD) found.add(methodKey(id, annotations.target[row] ?? 0))
  }
  return found
}

export function methodKey(id: number, method: number): string {
  return `${id} ${method}`
}
