import { KINDS_IN_CODE, REFERENCE_KINDS, type ReferenceKind } from '../../choices.ts'
import { declaredReceivers } from './declared-receivers.ts'
import { type CountedKind, referenceKindOf } from './compiled-references.ts'
import { findCalls, findReferences } from './find-references.ts'
import { packageOf, simpleNameOf, topLevelOf, toFqn } from '../names.ts'
import { pageOfGroups, type Paging } from '../paging.ts'
import type { Snapshot } from '../snapshot.ts'
import { allSubtypes } from '../types/subtypes.ts'
import { AS_COMPILED } from '../written/attribution.ts'
import { WrittenCode } from '../written/written-code.ts'

/** Filter of references. */
export interface XrefFilter {
  readonly kind?: ReferenceKind | undefined
  /** Only references from subtypes of this type. */
  readonly scopeImplementing?: string | undefined
  readonly includeLibraries: boolean
  /** Counts calls for the class that declares the method instead of the one named in the bytecode. */
  readonly declared: boolean
  /** Lists the members that a compiler made, instead of counting their references for those that a person wrote. */
  readonly synthetic: boolean
}

/** A reference to a type. */
interface Reference {
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

/** References of a kind that count for a class; of one class and kind there can be several. */
interface Use extends CountedKind {
  readonly id: number
  readonly count: number
  /** Undefined if they are those that the class contains. */
  readonly found: readonly Found[] | undefined
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
  const code = filter.synthetic ? AS_COMPILED : WrittenCode.of(snapshot)
  const { rows: references, ...page } = pageOfGroups(
    shown,
    ({ count }) => count,
    paging,
    (use) =>
      (use.found ?? findReferences(snapshot, code, use.id, fullName, use)).map((each) =>
        viewOf(snapshot, use.kind, each),
      ),
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
  const code = synthetic ? AS_COMPILED : WrittenCode.of(snapshot)
  const fullName = index.names.get(name)
  const scope =
    scopeImplementing === undefined ? undefined : allSubtypes(snapshot, snapshot.findType(scopeImplementing))
  const counts = (id: number, kind: ReferenceKind): boolean =>
    !index.isHidden(id) &&
    snapshot.counts(id, includeLibraries && !KINDS_IN_CODE.has(kind)) &&
    scope?.has(id) !== false
  const self = index.findByNameId(name)
  // Nested classes use private members by methods that a compiler adds to the class.
  const hasAccessors = self !== undefined && code.isUseCountedElsewhere(self, name, 'FIELD_READ')
  const uses: Use[] = []
  const addFound = (kind: ReferenceKind, all: readonly Found[]): void => {
    for (const [id, found] of Map.groupBy(all, ({ classId }) => classId))
      if (index.nameIdOf(id) !== name) uses.push({ id, kind, isSynthetic: false, count: found.length, found })
  }
  for (const { id, kind: use, count } of index.usesOf(name)) {
    const reference = referenceKindOf(use)
    if (reference === undefined || (reference.isSynthetic && !synthetic)) continue
    const { kind } = reference
    if ((declared && kind === 'CALL_RECEIVER') || !counts(id, kind)) continue
    if (id === self) continue
    // Nobody wrote the declaration of a compiler's class.
    if (!synthetic && !KINDS_IN_CODE.has(kind) && index.isMade(id)) continue
    const isByAccessor = hasAccessors && kind === 'CALL_RECEIVER' && isInOneFile(snapshot, id, self)
    if (isByAccessor || code.isUseCountedElsewhere(id, name, kind))
      addFound(kind, findReferences(snapshot, code, id, fullName, reference))
    else uses.push({ id, ...reference, count, found: undefined })
  }
  if (hasAccessors)
    for (const kind of ACCESSES)
      if (counts(self, kind))
        addFound(kind, findReferences(snapshot, code, self, fullName, { kind, isSynthetic: false }))
  if (declared) {
    const receivers = declaredReceivers(snapshot, name, (id) => id !== self && counts(id, 'CALL_RECEIVER'))
    for (const { id, calls } of receivers)
      addFound(
        'CALL_RECEIVER',
        findCalls(snapshot, code, id, (at) => calls.has(at)),
      )
  }
  const ranks = index.ranks()
  return uses.toSorted(
    (a, b) =>
      (ranks[a.id] ?? 0) - (ranks[b.id] ?? 0) ||
      REFERENCE_KINDS.indexOf(a.kind) - REFERENCE_KINDS.indexOf(b.kind),
  )
}

/** Whether classes are in one top-level class. */
function isInOneFile({ index }: Snapshot, a: number, b: number): boolean {
  return topLevelOf(toFqn(index.nameOf(a))) === topLevelOf(toFqn(index.nameOf(b)))
}

/** Kinds of references that accessors have for nested classes. */
const ACCESSES = ['FIELD_READ', 'FIELD_WRITE'] as const

type Found = ReturnType<typeof findReferences>[number]

function viewOf(snapshot: Snapshot, kind: ReferenceKind, { classId, ...found }: Found): Reference {
  const fromFqn = snapshot.fqnOf(classId)
  return {
    lineNumber: null,
    fromFqn,
    fromSimpleName: simpleNameOf(fromFqn),
    fromSource: snapshot.sourceOf(classId),
    kind,
    ...found,
  }
}

function sums(uses: readonly Use[], keyOf: (use: Use) => string): Readonly<Record<string, number>> {
  const counts = new Map<string, number>()
  for (const use of uses) {
    const key = keyOf(use)
    counts.set(key, (counts.get(key) ?? 0) + use.count)
  }
  return Object.fromEntries(counts)
}
