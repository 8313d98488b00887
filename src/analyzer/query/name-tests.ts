import type { NamePart } from '../../native/match-names.ts'
import type { NameSet } from '../index/name-list.ts'
import type { ProjectIndex } from '../index/project-index.ts'
import { simpleNameOf, typeOfDescriptor } from './names.ts'
import type { Snapshot } from './snapshot.ts'
import { wildcard } from './wildcard.ts'

/** A test of names by their ids in the index. */
export type NameTest = (name: number) => boolean

/** The names of methods that fit a pattern. */
export function methodNames({ index }: Snapshot, pattern: string): NameSet {
  return index.methodNames().match(pattern, 'whole')
}

/** The descriptors of what methods return that fit a pattern, by the type's full or its simple name. */
export function returnTypes({ index }: Snapshot, pattern: string): NameSet {
  const found = index.returnTypes().match(internal(pattern), 'descriptor')
  const fits = wildcard(pattern)
  for (const [id, type, simpleName] of otherReturnTypes(index)) {
    if (fits(type) || fits(simpleName)) found[id] = 1
  }
  return found
}

/** An id with the type as people write it, and its simple name. */
type OtherType = readonly [id: number, type: string, simpleName: string]

const otherTypesCache = new WeakMap<ProjectIndex, readonly OtherType[]>()

/** Arrays and primitives that methods return: some thousands. */
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

/** Whether a class's name fits a pattern, the whole one or the simple one. */
export function classNameTest(snapshot: Snapshot, pattern: string): NameTest {
  return classTest(snapshot, pattern, 'className')
}

/** The same of its package. */
export function packageTest(snapshot: Snapshot, pattern: string): NameTest {
  return classTest(snapshot, pattern, 'package')
}

const internal = (pattern: string): string => pattern.replaceAll('.', '/')

function classTest({ index }: Snapshot, pattern: string, part: NamePart): NameTest {
  const found = index.classNames().match(internal(pattern), part)
  return (name) => found[name] === 1
}
