import { TARGET } from '../bytecode/columns.ts'
import { countingPlaces } from './annotation-closure.ts'
import { ACC } from '../bytecode/access-flags.ts'
import { methodView } from './class-show.ts'
import { packageOf, simpleNameOf, typeOfDescriptor } from './names.ts'
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
  const special = new Set([index.names.find('<init>'), index.names.find('<clinit>')])
  return (id, method) => {
    const { methods } = index.sliceOf(id).digest
    if (((methods.accessFlags[method] ?? 0) & ACC.SYNTHETIC) !== 0) return false
    const nameId = methods.name[method] ?? -1
    if (special.has(nameId) || hasName?.(nameId) === false) return false
    return annotated?.has(methodKey(id, method)) !== false && returns?.(id, method) !== false
  }
}

/** Each name is looked at once, however often it is asked for. */
function nameTest(snapshot: Snapshot, fits: (text: string) => boolean): (name: number) => boolean {
  const { names } = snapshot.index
  /** 0: not looked at yet; 1: it does not fit; 2: it does. */
  const known = new Uint8Array(names.count)
  return (name) => {
    if (known[name] === 0) known[name] = fits(names.get(name)) ? 2 : 1
    return known[name] === 2
  }
}

/** Whether a method's erased return type is the one asked for. */
export function returnTest(snapshot: Snapshot, returnType: string): (id: number, method: number) => boolean {
  const fits = wildcard(returnType)
  const test = nameTest(snapshot, (descriptor) => {
    const type = typeOfDescriptor(descriptor)
    return fits(type) || fits(simpleNameOf(type))
  })
  return (id, method) => test(snapshot.index.sliceOf(id).digest.methods.returns[method] ?? -1)
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
