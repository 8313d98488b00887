import { USE } from '../../index/digest.ts'
import { referenceKindOf } from '../calls/compiled-references.ts'
import { findReferences } from '../calls/find-references.ts'
import { membersNaming } from '../calls/members-naming.ts'
import { topLevelOf } from '../names.ts'
import { LIMIT } from '../paths/slice-calls.ts'
import type { Snapshot } from '../snapshot.ts'
import { compare } from '../sort-in-turns.ts'
import { WrittenCode } from '../written/written-code.ts'
import { Selectors, type TypeTest } from './class-selector.ts'
import type { Layer, Rule } from './rule-set.ts'
import { Subjects } from './subjects.ts'
import { type Found, SourceMembers, typeName } from './violation.ts'

/** A dependency of a class on a type, by the id of the type's name. */
export interface Dependency {
  readonly classId: number
  readonly name: number
  /** Bit `USE.…` is set for each kind of use in the class. */
  readonly kinds: number
  /** The same of other classes with code that counts for the class. */
  readonly others: ReadonlyMap<number, number>
}

const NO_OTHERS: ReadonlyMap<number, number> = new Map()

/** Explains why a dependency is forbidden; undefined if it is allowed. */
type Forbids = (from: number, to: number) => string | undefined

/** Finds dependencies that a rule forbids, in the order of the names of classes. */
export function* findDependencies(snapshot: Snapshot, rule: Rule): Generator<void, readonly Found[]> {
  const forbids = forbidding(snapshot, rule)
  const subjects = new Subjects(snapshot, rule.includeTests === true)
  const whys = new Map<number, string>()
  const found = yield* dependencies(
    subjects,
    () => true,
    (from, to) => {
      const key = from * LIMIT + to
      const why = forbids(from, to)
      if (why !== undefined) whys.set(key, why)
      return why !== undefined
    },
    ignoring(snapshot, rule),
  )
  const violations: Found[] = []
  let members: SourceMembers | undefined
  for (const each of found) {
    yield
    const why = whys.get(snapshot.index.nameIdOf(each.classId) * LIMIT + each.name) ?? ''
    members = SourceMembers.of(snapshot, each.classId, members)
    violations.push(...describeDependency(snapshot, each, members, why))
  }
  return violations
}

/**
 * Returns the dependencies between types that pass a test, sorted by the names of both. Those inside a top-level
 * class are omitted: it is one unit with its nested classes.
 */
export function* dependencies(
  subjects: Subjects,
  isTarget: TypeTest,
  isWanted: (from: number, to: number) => boolean,
  isIgnored: (from: number, to: number) => boolean,
): Generator<void, readonly Dependency[]> {
  const { snapshot } = subjects
  const { index } = snapshot
  const isInside = (from: number, to: number): boolean =>
    topLevelOf(typeName(snapshot, from)) === topLevelOf(typeName(snapshot, to))
  /** Bits of kinds by target, of each class. */
  const kindsOf = new Map<number, Map<number, number>>()
  /** Bits of kinds by the class that contains the code, by the class for which it counts and the target. */
  const othersOf = new Map<string, Map<number, number>>()
  const add = (classId: number, name: number, kind: number, compiled: number): void => {
    let kinds = kindsOf.get(classId)
    if (kinds === undefined) kindsOf.set(classId, (kinds = new Map()))
    const known = kinds.get(name)
    const from = index.nameIdOf(classId)
    if (known === undefined && (!isWanted(from, name) || isIgnored(from, name) || isInside(from, name)))
      return
    const isOwn = compiled === classId
    kinds.set(name, (known ?? 0) | (isOwn ? 1 << kind : 0))
    if (isOwn) return
    const key = `${classId} ${name}`
    const others = othersOf.get(key) ?? new Map<number, number>()
    othersOf.set(key, others.set(compiled, (others.get(compiled) ?? 0) | (1 << kind)))
  }
  yield* subjects.forEachUse(isTarget, (classId, name, kind, compiled) => {
    for (const user of usersIn(snapshot, compiled, name, kind) ?? [classId]) add(user, name, kind, compiled)
  })
  const found: Dependency[] = []
  // Sorted class by class: a sort of all would block for too long.
  for (const classId of subjects.all()) {
    yield
    const kinds = kindsOf.get(classId) ?? []
    const own = Array.from(kinds, ([name, bits]) => ({ name, bits, text: index.names.get(name) }))
    own.sort((a, b) => compare(a.text, b.text))
    for (const { name, bits } of own)
      found.push({ classId, name, kinds: bits, others: othersOf.get(`${classId} ${name}`) ?? NO_OTHERS })
  }
  return found
}

/** Returns the classes for which the uses of a type in a written class count; undefined if all count for one. */
function usersIn(
  snapshot: Snapshot,
  classId: number,
  name: number,
  kind: number,
): ReadonlySet<number> | undefined {
  const code = WrittenCode.of(snapshot)
  const reference = referenceKindOf(kind)
  if (reference === undefined || !code.isUseShared(classId, name, reference.kind)) return undefined
  const found = findReferences(snapshot, code, classId, snapshot.index.names.get(name), reference)
  return new Set(found.map((each) => each.classId))
}

/** Returns a test of the dependencies that a rule ignores. */
export function ignoring(snapshot: Snapshot, { ignore = [] }: Rule): (from: number, to: number) => boolean {
  const selectors = new Selectors(snapshot)
  const pairs = ignore.map(({ from, to }) => [selectors.byName(from), selectors.byName(to)] as const)
  return (from, to) => pairs.some(([isFrom, isTo]) => isFrom(from) && isTo(to))
}

/** Returns which dependencies a rule forbids. */
function forbidding(snapshot: Snapshot, rule: Rule): Forbids {
  const selectors = new Selectors(snapshot)
  if (rule.layers !== undefined) return forbiddingLayers(selectors, rule.layers)
  const isSubject = selectors.of(rule.classes)
  if (rule.mustNotUse !== undefined) {
    const isForbidden = selectors.of(rule.mustNotUse)
    return (from, to) => (isForbidden(to) && isSubject(from) ? 'which is forbidden' : undefined)
  }
  if (rule.mayOnlyUse !== undefined) {
    const isAllowed = selectors.of(rule.mayOnlyUse)
    return (from, to) => (isSubject(from) && !isAllowed(to) ? 'which is not allowed' : undefined)
  }
  const isAllowed = selectors.of(rule.mayOnlyBeUsedBy)
  return (from, to) =>
    isSubject(to) && !isSubject(from) && !isAllowed(from) ? 'which it may not use' : undefined
}

function forbiddingLayers(selectors: Selectors, layers: Readonly<Record<string, Layer>>): Forbids {
  const all = Object.entries(layers).map(([name, { classes, mayUse, mayOnlyBeUsedBy }]) => ({
    name,
    isIn: selectors.of(classes),
    mayUse,
    mayOnlyBeUsedBy,
  }))
  const known = new Map<number, readonly (typeof all)[number][]>()
  const layersOf = (type: number) => {
    let found = known.get(type)
    if (found === undefined) known.set(type, (found = all.filter(({ isIn }) => isIn(type))))
    return found
  }
  return (from, to) => {
    const [above, below] = [layersOf(from), layersOf(to)]
    if (below.length === 0 || above.some((layer) => below.includes(layer))) return undefined
    const names = below.map(({ name }) => name).join(' and ')
    const using = above.find(
      ({ mayUse }) => mayUse !== undefined && !below.some(({ name }) => mayUse.includes(name)),
    )
    if (using !== undefined) return `but layer ${using.name} may not use layer ${names}`
    const used = below.find(
      ({ mayOnlyBeUsedBy }) =>
        mayOnlyBeUsedBy !== undefined && !above.some(({ name }) => mayOnlyBeUsedBy.includes(name)),
    )
    return used === undefined
      ? undefined
      : `but layer ${used.name} may only be used by ${listed(used.mayOnlyBeUsedBy)}`
  }
}

function listed(names: readonly string[] = []): string {
  return names.length === 0 ? 'itself' : `layer ${names.join(', ')}`
}

/** Kinds that are reported only if there are no others: compiler-generated members, and mentions without a line. */
const SECONDARY = new Set<number>([USE.SYNTHETIC_FIELD, USE.SYNTHETIC_PARAM, USE.SYNTHETIC_RETURN, USE.OTHER])

/** Describes a dependency: one violation for each member that has it. */
export function describeDependency(
  snapshot: Snapshot,
  { classId, name, kinds, others }: Dependency,
  members: SourceMembers,
  why: string,
): readonly Found[] {
  const code = WrittenCode.of(snapshot)
  const target = typeName(snapshot, name)
  const what = `uses ${target}${why === '' ? '' : `, ${why}`}`
  const internal = snapshot.index.names.get(name)
  const found = new Map<string, Found>()
  const add = (place: Pick<Found, 'member' | 'lineNumber'>): void => {
    const key = `${place.member?.name} ${place.member?.descriptor}`
    const before = found.get(key)
    const isFirst = before === undefined || (place.lineNumber ?? Infinity) < (before.lineNumber ?? Infinity)
    if (isFirst) found.set(key, { classId, ...place, target, what })
  }
  let isElsewhere = false
  for (const [part, bits] of [[classId, kinds] as const, ...others]) {
    const all = Object.values(USE).filter((kind) => (bits & (1 << kind)) !== 0)
    const primary = all.filter((kind) => !SECONDARY.has(kind))
    for (const kind of primary.length > 0 ? primary : all) {
      const reference = referenceKindOf(kind)
      if (reference === undefined) {
        for (const member of membersNaming(snapshot, part, internal, kind))
          add(members.place(member, null, null))
        continue
      }
      for (const each of findReferences(snapshot, code, part, internal, reference)) {
        if (each.classId === classId)
          add(members.place(each.member, each.descriptor, each.lineNumber ?? null))
        else isElsewhere ||= part !== classId
      }
    }
  }
  // A compiler's class counts for the one around it, but its code for the methods that use it.
  if (found.size === 0 && isElsewhere) add({ member: null, lineNumber: null })
  return [...found.values()]
}
