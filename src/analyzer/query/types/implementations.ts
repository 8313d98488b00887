import { classSummary, type ClassSummary } from './class-summary.ts'
import { toFqn } from '../names.ts'
import type { Snapshot } from '../snapshot.ts'
import { sortInTurns } from '../sort-in-turns.ts'
import { allSubtypes } from './subtypes.ts'

/** The classes that extend or implement a type, sorted by name. */
export interface Implementations {
  readonly targetClass: string
  readonly directImplementations: readonly ClassSummary[]
  readonly indirectImplementations: readonly ClassSummary[]
  readonly totalCount: number
}

/** Finds the classes that extend or implement a type. @throws CLASS_NOT_FOUND */
export function* implementationsOf(
  snapshot: Snapshot,
  fqn: string,
  includeLibraries: boolean,
): Generator<void, Implementations> {
  const target = snapshot.getType(fqn)
  const direct: ClassSummary[] = []
  const indirect: ClassSummary[] = []
  for (const [id, isDirect] of allSubtypes(snapshot, target)) {
    if (snapshot.index.isMade(id) || !snapshot.counts(id, includeLibraries)) continue
    const into = isDirect ? direct : indirect
    into.push(classSummary(snapshot, id))
    yield
  }
  return {
    targetClass: toFqn(snapshot.index.names.get(target)),
    directImplementations: yield* sortInTurns(direct, ({ fqn: name }) => name),
    indirectImplementations: yield* sortInTurns(indirect, ({ fqn: name }) => name),
    totalCount: direct.length + indirect.length,
  }
}
