import { KINDS_IN_CODE, REFERENCE_KINDS } from '../../choices.ts'
import { declaredReceivers } from './declared-receivers.ts'
import { callReferences, findReferences, type ReferenceKind, referenceKindOf } from './find-references.ts'
import { packageOf, simpleNameOf, toFqn } from '../names.ts'
import { pageOfGroups, type Paging } from '../paging.ts'
import type { Snapshot } from '../snapshot.ts'
import { allSubtypes } from '../types/subtypes.ts'

/** Filter of references. */
export interface XrefFilter {
  readonly kind?: ReferenceKind | undefined
  /** Only references from subtypes of this type. */
  readonly scopeImplementing?: string | undefined
  readonly includeLibraries: boolean
  /** Counts calls for the class that declares the method instead of the one named in the bytecode. */
  readonly declared: boolean
  /** Includes fields, parameters and return types of synthetic members. */
  readonly synthetic: boolean
}

/** A reference to a type. */
export interface Reference {
  readonly fromFqn: string
  readonly fromSimpleName: string
  readonly fromSource: string
  readonly kind: ReferenceKind
  /** Name of a field or method; null for the class itself. */
  readonly member: string | null
  /** JVM descriptor if the member is a method. */
  readonly descriptor: string | null
  /** The member's type; for CALL_RECEIVER, the name of the called method. */
  readonly detail: string
  /** PARAM: index of the parameter, from 0. */
  readonly parameterIndex?: number
  /** CALL_RECEIVER: JVM descriptor of the called method. */
  readonly calledDescriptor?: string
  readonly lineNumber: number | null
}

interface Use {
  readonly id: number
  readonly kind: ReferenceKind
  readonly isSynthetic: boolean
  readonly count: number
  /** Rows of calls, if a search found them already. */
  readonly calls?: ReadonlySet<number>
}

/**
 * Returns the references to a type, sorted by class, kind and position in the class. References in code are
 * searched in project classes only.
 *
 * @throws CLASS_NOT_FOUND when nothing mentions the type
 */
export function xrefOf(snapshot: Snapshot, typeFqn: string, filter: XrefFilter, paging: Paging) {
  const { kind } = filter
  const { index } = snapshot
  const name = snapshot.getType(typeFqn)
  const all = usesOf(snapshot, name, filter)
  const shown = all.filter((use) => kind === undefined || use.kind === kind)
  const fullName = index.names.get(name)
  const { rows: references, ...page } = pageOfGroups(
    shown,
    ({ count }) => count,
    paging,
    (use) => referencesIn(snapshot, fullName, use),
  )
  return {
    typeFqn: toFqn(fullName),
    references,
    ...page,
    countsByKind: sums(all, ({ kind: each }) => each),
    countsByPackage: sums(shown, ({ id }) => packageOf(snapshot.fqnOf(id))),
    appliedFilter: {
      includeLibraries: filter.includeLibraries,
      kind: kind ?? null,
      scopeImplementing: filter.scopeImplementing ?? null,
      declared: filter.declared,
      synthetic: filter.synthetic,
    },
  }
}

/** Returns the uses of a type, sorted by class name and kind. */
function usesOf(snapshot: Snapshot, name: number, filter: XrefFilter): readonly Use[] {
  const { index } = snapshot
  const { scopeImplementing, includeLibraries, declared, synthetic } = filter
  const scope =
    scopeImplementing === undefined ? undefined : allSubtypes(snapshot, snapshot.findType(scopeImplementing))
  const counts = (id: number, kind: ReferenceKind): boolean =>
    !index.isHidden(id) &&
    snapshot.counts(id, includeLibraries && !KINDS_IN_CODE.has(kind)) &&
    scope?.has(id) !== false &&
    index.nameIdOf(id) !== name
  const uses: Use[] = []
  for (const { id, kind: use, count } of index.usesOf(name)) {
    const reference = referenceKindOf(use)
    if (reference === undefined || (reference.isSynthetic && !synthetic)) continue
    const isFoundElsewhere = declared && reference.kind === 'CALL_RECEIVER'
    if (!isFoundElsewhere && counts(id, reference.kind)) uses.push({ id, ...reference, count })
  }
  if (declared) {
    const receivers = declaredReceivers(snapshot, name, (id) => counts(id, 'CALL_RECEIVER'))
    for (const { id, calls } of receivers)
      uses.push({ id, kind: 'CALL_RECEIVER', isSynthetic: false, count: calls.size, calls })
  }
  const ranks = index.ranks()
  return uses.toSorted(
    (a, b) =>
      (ranks[a.id] ?? 0) - (ranks[b.id] ?? 0) ||
      REFERENCE_KINDS.indexOf(a.kind) - REFERENCE_KINDS.indexOf(b.kind),
  )
}

function referencesIn(
  snapshot: Snapshot,
  name: string,
  { id, kind, isSynthetic, calls }: Use,
): readonly Reference[] {
  const slice = snapshot.index.sliceOf(id)
  const facts = snapshot.facts(slice)
  const fromFqn = snapshot.fqnOf(id)
  const from = { fromFqn, fromSimpleName: simpleNameOf(fromFqn), fromSource: slice.source, kind }
  const row = id - slice.firstClass
  const found =
    calls === undefined
      ? findReferences(facts, row, name, { kind, isSynthetic })
      : callReferences(facts, row, (at) => calls.has(at))
  return found.map((each) => ({
    lineNumber: null,
    ...from,
    ...each,
  }))
}

function sums(uses: readonly Use[], keyOf: (use: Use) => string): Readonly<Record<string, number>> {
  const counts = new Map<string, number>()
  for (const use of uses) {
    const key = keyOf(use)
    counts.set(key, (counts.get(key) ?? 0) + use.count)
  }
  return Object.fromEntries(counts)
}
