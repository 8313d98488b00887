import { classSummary, type ClassSummary } from './class-summary.ts'
import { toFqn } from '../names.ts'
import type { Snapshot } from '../snapshot.ts'
import { allSubtypes } from './subtypes.ts'

/** Returns the classes that extend or implement a type, sorted by name. @throws CLASS_NOT_FOUND */
export function implementationsOf(snapshot: Snapshot, fqn: string, includeLibraries: boolean) {
  const target = snapshot.getType(fqn)
  const below = [...allSubtypes(snapshot, target)]
    .filter(([id]) => snapshot.counts(id, includeLibraries))
    .map(([id, isDirect]) => ({ summary: classSummary(snapshot, id), isDirect }))
    .toSorted((a, b) => compare(a.summary.fqn, b.summary.fqn))
  const of = (direct: boolean): readonly ClassSummary[] =>
    below.filter(({ isDirect }) => isDirect === direct).map(({ summary }) => summary)
  return {
    targetClass: toFqn(snapshot.index.names.get(target)),
    directImplementations: of(true),
    indirectImplementations: of(false),
    totalCount: below.length,
  }
}

/** Compares names by code units, so that the order is the same on every machine. */
export function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
