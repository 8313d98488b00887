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

const MISSING_CONSTANT = 'java/lang/NoSuchFieldError'

/** Returns the references in a class to a type, in the order of the class file, where they count. */
export function findReferences(
  snapshot: Snapshot,
  code: Attribution,
  classId: number,
  name: string,
  { kind, isSynthetic }: CountedKind,
): readonly FoundReference[] {
  // A class for a switch catches it for each constant, in case the enum has another version.
  if (name === MISSING_CONSTANT && kind === 'CATCH' && code.isMade(classId, CLASS_ITSELF)) return []
  const { facts, row } = readClass(snapshot, classId)
  const found = finders[kind](facts, row, name, isSynthetic)
  return attributed(snapshot, code, classId, found, isSynthetic)
}

/** Returns the calls in a class that pass a test, where they count. */
export function findCalls(
  snapshot: Snapshot,
  code: Attribution,
  classId: number,
  isWanted: (call: number) => boolean,
): readonly FoundReference[] {
  const { facts, row } = readClass(snapshot, classId)
  return attributed(snapshot, code, classId, callReferences(facts, row, isWanted), false)
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
  isSynthetic: boolean,
): readonly FoundReference[] {
  const own: FoundReference[] = []
  const keys = new Set<string>()
  const keyOf = ({ member, descriptor, detail }: FoundReference): string =>
    `${member} ${descriptor} ${detail}`
  const repeated: FoundReference[] = []
  for (const { method, call, called, details: compiled, ...member } of found) {
    const details = called === undefined ? compiled : detailsOf(code.calledAs(called), compiled)
    if (method === undefined) {
      const isMade = code.isMade(classId, CLASS_ITSELF) || (isSynthetic && code !== AS_COMPILED)
      own.push({ ...(isMade ? ITSELF : member), ...details, classId: code.classOf(classId) })
      continue
    }
    if (call !== undefined && code.isDelegation(classId, method, call)) continue
    for (const place of code.placesOf(classId, method)) {
      const at = memberAt(snapshot, place)
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
