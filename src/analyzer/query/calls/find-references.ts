import type { Snapshot } from '../snapshot.ts'
import {
  AS_COMPILED,
  type Attribution,
  type Called,
  CLASS_ITSELF,
  type Place,
} from '../written/attribution.ts'
import {
  callReferences,
  type CompiledReference,
  type CountedKind,
  type Details,
  finders,
  ITSELF,
  type Member,
} from './compiled-references.ts'

/** A reference in a class to a type. */
interface FoundReference extends Member, Details {
  /** Class for which the reference counts. */
  readonly classId: number
}

/**
 * Returns the references in a class to a type, in the order of the class file, where they count.
 *
 * @param isNaming whether accesses of fields by accessors, which are in other classes, are included
 */
export function findReferences(
  snapshot: Snapshot,
  code: Attribution,
  classId: number,
  name: string,
  { kind, isSynthetic }: CountedKind,
  isNaming = false,
): readonly FoundReference[] {
  const { facts, row } = readClass(snapshot, classId)
  const found = finders[kind](facts, row, name, isSynthetic)
  return attributed(snapshot, code, classId, found, { isSynthetic, isNaming })
}

/** Returns the calls in a class that pass a test, where they count. */
export function findCalls(
  snapshot: Snapshot,
  code: Attribution,
  classId: number,
  isWanted: (call: number) => boolean,
): readonly FoundReference[] {
  const { facts, row } = readClass(snapshot, classId)
  return attributed(snapshot, code, classId, callReferences(facts, row, isWanted), {
    isSynthetic: false,
    isNaming: false,
  })
}

function readClass(snapshot: Snapshot, classId: number) {
  const slice = snapshot.index.sliceOf(classId)
  return { facts: snapshot.facts(slice), row: classId - slice.firstClass }
}

function attributed(
  snapshot: Snapshot,
  code: Attribution,
  classId: number,
  found: readonly CompiledReference[],
  { isSynthetic, isNaming }: { readonly isSynthetic: boolean; readonly isNaming: boolean },
): readonly FoundReference[] {
  const own: FoundReference[] = []
  const keys = new Set<string>()
  const keyOf = ({ member, descriptor, detail }: FoundReference): string =>
    `${member} ${descriptor} ${detail}`
  const repeated: FoundReference[] = []
  for (const { method, call, called: compiledName, details: compiled, ...member } of found) {
    const called = compiledName === undefined ? undefined : calledIn(snapshot, code, compiledName)
    // The access of a field by an accessor is where the accessor counts.
    if (!isNaming && call !== undefined && called?.descriptor.startsWith('(') === false) continue
    const details = called === undefined ? compiled : detailsOf(called, compiled)
    if (method === undefined) {
      const isMade = code.isMade(classId, CLASS_ITSELF) || (isSynthetic && code !== AS_COMPILED)
      own.push({ ...(isMade ? ITSELF : member), ...details, classId: code.classOf(classId) })
      continue
    }
    if (call !== undefined && code.isDelegation(classId, method, call)) continue
    for (const place of code.placesOf(classId, method)) {
      const isItself = place.method === method && place.classId === classId
      const at = isItself ? member : memberAt(snapshot, place)
      const line = place.line === undefined ? {} : { lineNumber: place.line }
      const reference = { ...at, ...details, ...line, classId: place.classId }
      // A bridge has the exceptions and annotations of the method that it stands for.
      if (details.lineNumber === undefined && code.isMade(classId, method)) repeated.push(reference)
      else {
        own.push(reference)
        keys.add(keyOf(reference))
      }
    }
  }
  for (const reference of repeated) {
    if (keys.has(keyOf(reference))) continue
    keys.add(keyOf(reference))
    own.push(reference)
  }
  return own
}

/** Returns the member that code names by another; members of a compiler's class, which has no others, as they are. */
function calledIn({ index }: Snapshot, code: Attribution, called: Called): Called {
  const owner = index.find(called.owner)
  return owner !== undefined && index.isMade(owner) ? called : code.calledAs(called)
}

function detailsOf({ name, descriptor }: Called, compiled: Details): Details {
  const { calledDescriptor } = compiled
  return {
    ...compiled,
    detail: name,
    ...(calledDescriptor !== undefined && { calledDescriptor: descriptor }),
  }
}

/** Returns the member at a place; null for the class itself. */
export function memberAt(snapshot: Snapshot, { classId, method }: Place): Member {
  if (method === CLASS_ITSELF) return ITSELF
  const { facts } = readClass(snapshot, classId)
  const { methods, strings } = facts
  return {
    member: strings.get(methods.name[method] ?? 0),
    descriptor: strings.get(methods.descriptor[method] ?? 0),
  }
}
