import { type DependencyType, dependencyType, isOfDescriptor } from './dependency-type.ts'
import { compare } from '../sort-in-turns.ts'
import { type MemberName, membersNaming } from '../calls/members-naming.ts'
import { toFqn } from '../names.ts'
import type { Snapshot } from '../snapshot.ts'
import { NOWHERE } from '../written/attribution.ts'
import { WrittenCode } from '../written/written-code.ts'

/** A dependency between two classes. */
export interface Dependency {
  readonly classFqn: string
  readonly dependencyType: DependencyType
  /** UNKNOWN for a class that is not on the class path. */
  readonly source: string
  /** Field or method with the dependency; null for the class itself. */
  readonly location: MemberName
}

/**
 * Returns the dependencies and dependents of a class, one entry per class, type and member. @throws
 * CLASS_NOT_FOUND
 */
export function dependenciesOf(snapshot: Snapshot, fqn: string, includeLibraries: boolean) {
  const { index } = snapshot
  const target = snapshot.getType(fqn)
  const targetName = index.names.get(target)
  const id = index.findByNameId(target)
  const code = WrittenCode.of(snapshot)
  const outgoing = new DependencyList(snapshot)
  if (id !== undefined)
    for (const part of code.partsOf(id)) addOutgoing(outgoing, snapshot, part, includeLibraries)
  const incoming = new DependencyList(snapshot)
  for (const { id: user, kind } of index.usesOf(target)) {
    const counted = code.classOf(user)
    if (
      isOfDescriptor(targetName, kind) ||
      counted === NOWHERE ||
      counted === id ||
      index.isHidden(user) ||
      !snapshot.counts(user, includeLibraries)
    )
      continue
    const members = membersNaming(snapshot, user, targetName, kind)
    incoming.add(index.nameIdOf(counted), typeOf(snapshot, user, kind), members)
  }
  return { targetClass: toFqn(targetName), outgoing: outgoing.sorted(), incoming: incoming.sorted() }
}

function addOutgoing(list: DependencyList, snapshot: Snapshot, id: number, includeLibraries: boolean): void {
  const { index } = snapshot
  const code = WrittenCode.of(snapshot)
  for (const { name, kind } of usesBy(snapshot, id)) {
    if (isOfDescriptor(index.names.get(name), kind)) continue
    const used = index.findByNameId(name)
    if (used === undefined ? !includeLibraries : !snapshot.counts(used, includeLibraries)) continue
    const counted = used === undefined ? undefined : code.classOf(used)
    if (counted === NOWHERE || (counted !== undefined && counted === code.classOf(id))) continue
    const members = membersNaming(snapshot, id, index.names.get(name), kind)
    list.add(counted === undefined ? name : index.nameIdOf(counted), typeOf(snapshot, id, kind), members)
  }
}

/** Returns the type of a dependency; nobody declared those of a compiler's class. */
function typeOf(snapshot: Snapshot, user: number, kind: number): DependencyType {
  return snapshot.index.isMade(user) ? 'TYPE_REFERENCE' : dependencyType(kind)
}

/** Yields the types that a class uses, from its slice's uses by type. */
function* usesBy(
  snapshot: Snapshot,
  id: number,
): Generator<{ readonly name: number; readonly kind: number }> {
  const { digest, firstClass } = snapshot.index.sliceOf(id)
  const { types, uses } = digest
  for (let type = 0; type < types.count; type++) {
    for (let row = types.firstUse[type] ?? 0; row < (types.firstUse[type + 1] ?? 0); row++) {
      if (uses.class[row] === id - firstClass) {
        yield { name: types.name[type] ?? -1, kind: uses.kind[row] ?? 0 }
      }
    }
  }
}

/** Distinct dependencies: several uses can have the same type. */
class DependencyList {
  readonly #snapshot: Snapshot
  readonly #list = new Map<string, Dependency>()

  constructor(snapshot: Snapshot) {
    this.#snapshot = snapshot
  }

  /**
   * Adds dependencies.
   *
   * @param name id of the other class's name
   */
  add(name: number, type: DependencyType, members: ReadonlySet<MemberName>): void {
    const { index } = this.#snapshot
    const id = index.findByNameId(name)
    const other = {
      classFqn: toFqn(index.names.get(name)),
      dependencyType: type,
      source: id === undefined ? 'UNKNOWN' : this.#snapshot.sourceOf(id),
    }
    for (const location of members)
      this.#list.set(`${name} ${type} ${location ?? ''}`, { ...other, location })
  }

  sorted(): readonly Dependency[] {
    return [...this.#list.values()].toSorted(
      (a, b) =>
        compare(a.classFqn, b.classFqn) ||
        compare(a.dependencyType, b.dependencyType) ||
        compare(a.location ?? '', b.location ?? ''),
    )
  }
}
