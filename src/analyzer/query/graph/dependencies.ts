import { type DependencyType, dependencyType } from './dependency-type.ts'
import { compare } from '../types/implementations.ts'
import { toFqn } from '../names.ts'
import type { Snapshot } from '../snapshot.ts'

export interface Dependency {
  readonly classFqn: string
  readonly dependencyType: DependencyType
  /** UNKNOWN for a class that is not on the class path. */
  readonly source: string
  /** Folder or archive of that class; '' for an unknown one. */
  readonly location: string
}

/** Returns the dependencies and dependents of a class, one line for each class and type. @throws CLASS_NOT_FOUND */
export function dependenciesOf(snapshot: Snapshot, fqn: string, includeLibraries: boolean) {
  const { index } = snapshot
  const target = snapshot.getClass(fqn)
  const outgoing = new Map<string, Dependency>()
  for (const { name, kind } of usesBy(snapshot, target)) {
    const id = index.findByNameId(name)
    if (id === undefined ? includeLibraries : snapshot.counts(id, includeLibraries))
      add(snapshot, outgoing, name, id, kind)
  }
  const incoming = new Map<string, Dependency>()
  for (const { id, kind } of index.usesOf(index.nameIdOf(target))) {
    if (!index.isHidden(id) && snapshot.counts(id, includeLibraries))
      add(snapshot, incoming, index.nameIdOf(id), id, kind)
  }
  const sorted = (lines: ReadonlyMap<string, Dependency>): readonly Dependency[] =>
    [...lines.values()].toSorted(
      (a, b) => compare(a.classFqn, b.classFqn) || compare(a.dependencyType, b.dependencyType),
    )
  return { targetClass: snapshot.fqnOf(target), outgoing: sorted(outgoing), incoming: sorted(incoming) }
}

/** The types that a class uses, from its slice's uses by type. */
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

function add(
  snapshot: Snapshot,
  lines: Map<string, Dependency>,
  name: number,
  id: number | undefined,
  kind: number,
): void {
  const type = dependencyType(kind)
  const key = `${name} ${type}`
  if (lines.has(key)) return
  const slice = id === undefined ? undefined : snapshot.index.sliceOf(id)
  lines.set(key, {
    classFqn: toFqn(snapshot.index.names.get(name)),
    dependencyType: type,
    source: slice?.source ?? 'UNKNOWN',
    location: slice?.location ?? '',
  })
}
