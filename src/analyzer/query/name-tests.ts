import type { NamePart } from '../../native/match-names.ts'
import type { NameSet } from '../index/name-list.ts'
import type { ProjectIndex } from '../index/project-index.ts'
import { simpleNameOf, typeOfDescriptor } from './names.ts'
import type { Snapshot } from './snapshot.ts'
import { wildcard } from './wildcard.ts'

/** A test of a name, by its id in the index. */
export type NameTest = (name: number) => boolean

/** Returns the method names that match a pattern. */
export function methodNames({ index }: Snapshot, pattern: string): NameSet {
  return index.methodNames().match(pattern, 'whole')
}

/** Returns the return descriptors that match a pattern, by the type's full or simple name. */
export function returnTypes({ index }: Snapshot, pattern: string): NameSet {
  const found = index.returnTypes().match(internal(pattern), 'descriptor')
  const matches = wildcard(pattern)
  for (const [id, type, simpleName] of otherReturnTypes(index)) {
    if (matches(type) || matches(simpleName)) found[id] = 1
  }
  return found
}

/** An id with the type in source notation, and its simple name. */
type OtherType = readonly [id: number, type: string, simpleName: string]

const otherTypesCache = new WeakMap<ProjectIndex, readonly OtherType[]>()

/** Returns the array and primitive return types, some thousands. */
function otherReturnTypes(index: ProjectIndex): readonly OtherType[] {
  const cached = otherTypesCache.get(index)
  if (cached !== undefined) return cached
  const { bytes, offsets } = index.names.table()
  const others = Array.from(index.returnTypes().ids)
    .filter((id) => bytes[offsets[id] ?? -1] !== CLASS)
    .map((id): OtherType => {
      const type = typeOfDescriptor(index.names.decode(id))
      return [id, type, simpleNameOf(type)]
    })
  otherTypesCache.set(index, others)
  return others
}

const CLASS = 'L'.charCodeAt(0)

/** Returns a test whether a class's full or simple name matches a pattern. */
export function classNameTest(snapshot: Snapshot, pattern: string): NameTest {
  return classTest(snapshot, pattern, 'className')
}

/** Returns a test whether a class's package matches a pattern. */
export function packageTest(snapshot: Snapshot, pattern: string): NameTest {
  return classTest(snapshot, pattern, 'package')
}

const internal = (pattern: string): string => pattern.replaceAll('.', '/')

function classTest({ index }: Snapshot, pattern: string, part: NamePart): NameTest {
  const found = index.classNames().match(internal(pattern), part)
  return (name) => found[name] === 1
}
