import type { USAGE_SCOPES } from '../../choices.ts'
import { TARGET } from '../../bytecode/columns.ts'
import type { Facts } from '../../bytecode/facts.ts'
import { matchingAnnotations } from './annotation-closure.ts'
import { AnnotationSynthesis } from './annotation-synthesis.ts'
import { type AnnotationView, annotationView } from './annotation-value.ts'
import { packageOf, simpleNameOf, toFqn } from '../names.ts'
import { pageOf, type Paging } from '../paging.ts'
import { parameterAnnotations } from '../parameters.ts'
import { typePosition } from './type-position.ts'
import type { Snapshot } from '../snapshot.ts'
import { memberAt } from '../calls/find-references.ts'
import { CLASS_ITSELF, type Place } from '../written/attribution.ts'
import { WrittenCode } from '../written/written-code.ts'
import type { IndexedSlice } from '../../index/indexed-slice.ts'

type Scope = (typeof USAGE_SCOPES)[number]
type Target = 'CLASS' | 'METHOD' | 'CONSTRUCTOR' | 'FIELD' | 'PARAMETER'

const SCOPE_OF: Readonly<Record<Target, Scope>> = {
  CLASS: 'class',
  METHOD: 'method',
  CONSTRUCTOR: 'method',
  FIELD: 'field',
  PARAMETER: 'param',
}

/** A use of an annotation. */
export interface AnnotationUsage {
  readonly target: Target
  readonly classFqn: string
  readonly classSimpleName: string
  readonly packageName: string
  readonly classSource: string
  readonly method?: string
  readonly descriptor?: string
  readonly field?: string
  readonly parameterIndex?: number
  readonly parameterName?: string
  /**
   * Annotated type in the member's declaration or code, for example "type argument 0 of the return type";
   * missing if the declaration itself is annotated.
   */
  readonly onType?: string
  readonly annotation: AnnotationView
  /** Written annotation if it is annotated with the requested one; null if it is the requested one. */
  readonly through: string | null
}

/** Filter of annotation uses. */
export interface UsageFilter {
  readonly scope?: Scope | undefined
  readonly includeLibraries: boolean
  /** Omits uses as a meta-annotation. */
  readonly direct: boolean
}

interface UsageLocation {
  readonly id: number
  readonly slice: IndexedSlice
  readonly row: number
  readonly target: Target
  readonly path: readonly number[]
  readonly repeated: AnnotationView | undefined
  /** Written method for which an annotated one counts. */
  readonly method: Place | undefined
}

/**
 * Returns the uses of an annotation, directly or as a meta-annotation, whose attributes are then synthesized.
 * Sorted by class, then target and position.
 *
 * @throws CLASS_NOT_FOUND when there is no such annotation
 */
export function annotationUsages(
  snapshot: Snapshot,
  annotationFqn: string,
  filter: UsageFilter,
  paging: Paging,
) {
  const { scope = 'all' } = filter
  const { index } = snapshot
  const type = snapshot.getType(annotationFqn)
  const all = usagesOf(snapshot, type, filter.includeLibraries)
  const shown = all.filter(
    ({ target, path }) =>
      (scope === 'all' || SCOPE_OF[target] === scope) && (!filter.direct || path.length === 0),
  )
  const synthesis = new AnnotationSynthesis(snapshot)
  const { rows: usages, ...page } = pageOf(shown, paging, (usage) => usageAt(snapshot, usage, synthesis))
  return { annotationFqn: toFqn(index.names.get(type)), usages, ...page, countsByTarget: counts(shown) }
}

function usagesOf(snapshot: Snapshot, type: number, includeLibraries: boolean): readonly UsageLocation[] {
  const { index } = snapshot
  const constructor = index.names.find('<init>')
  const code = WrittenCode.of(snapshot)
  const usages: UsageLocation[] = []
  const copies: UsageLocation[] = []
  for (const { slice, row, id, targetKind, target: on, path, repeated } of matchingAnnotations(
    snapshot,
    type,
  )) {
    if (!snapshot.counts(id, includeLibraries) || index.isHidden(id)) continue
    const isOnMethod = targetKind === TARGET.METHOD || targetKind === TARGET.METHOD_TYPE
    const isConstructor = isOnMethod && slice.digest.methods.name[on] === constructor
    const target = isConstructor ? 'CONSTRUCTOR' : TARGETS[targetKind]
    if (target === undefined) continue
    const isInMethod = target !== 'CLASS' && target !== 'FIELD'
    if (!code.isMade(id, isInMethod ? on : CLASS_ITSELF)) {
      usages.push({ id, slice, row, target, path, repeated, method: undefined })
      continue
    }
    // Nobody wrote those of a compiler's class or field.
    const place = isInMethod ? code.placesOf(id, on).find(({ method }) => method !== CLASS_ITSELF) : undefined
    if (place !== undefined)
      copies.push({ id: place.classId, slice, row, target, path, repeated, method: place })
  }
  // Compilers copy annotations to bridges.
  const keyOf = ({ id, row, target, slice, method }: UsageLocation): string =>
    `${id} ${target} ${method?.method ?? snapshot.facts(slice).annotations.target[row]}`
  const known = new Set(copies.length === 0 ? [] : usages.map(keyOf))
  usages.push(...copies.filter((copy) => !known.has(keyOf(copy))))
  const ranks = index.ranks()
  return usages.toSorted((a, b) => (ranks[a.id] ?? 0) - (ranks[b.id] ?? 0) || a.row - b.row)
}

/**
 * A record component is reported as its field, because the compiler copies its annotations to where they
 * belong.
 */
const TARGETS: Readonly<Record<number, Target>> = {
  [TARGET.CLASS]: 'CLASS',
  [TARGET.FIELD]: 'FIELD',
  [TARGET.METHOD]: 'METHOD',
  [TARGET.PARAMETER]: 'PARAMETER',
  [TARGET.CLASS_TYPE]: 'CLASS',
  [TARGET.FIELD_TYPE]: 'FIELD',
  [TARGET.METHOD_TYPE]: 'METHOD',
  [TARGET.PARAMETER_TYPE]: 'PARAMETER',
}

function usageAt(snapshot: Snapshot, usage: UsageLocation, synthesis: AnnotationSynthesis): AnnotationUsage {
  const { id, slice, row, target, path, repeated } = usage
  const facts = snapshot.facts(slice)
  const classFqn = snapshot.fqnOf(id)
  const names = path.map((name) => toFqn(snapshot.index.names.get(name)))
  const written = repeated ?? annotationView(facts, row)
  return {
    target,
    classFqn,
    classSimpleName: simpleNameOf(classFqn),
    packageName: packageOf(classFqn),
    classSource: slice.source,
    ...memberOf(snapshot, usage),
    ...onType(facts, row),
    annotation: synthesis.along(written, names),
    through: path.length === 0 ? null : written.type,
  }
}

function memberOf(snapshot: Snapshot, usage: UsageLocation): Partial<AnnotationUsage> {
  const { id, slice, row, target, method: place } = usage
  const facts = snapshot.facts(slice)
  const { annotations, fields, methods, strings } = facts
  const member = annotations.target[row] ?? 0
  if (target === 'CLASS') return {}
  if (target === 'FIELD') return { field: strings.get(fields.name[member] ?? 0) }
  const written = place === undefined ? undefined : memberAt(snapshot, place)
  const method = {
    method: written?.member ?? strings.get(methods.name[member] ?? 0),
    descriptor: written?.descriptor ?? strings.get(methods.descriptor[member] ?? 0),
  }
  if (target !== 'PARAMETER') return method
  const parameters = parameterAnnotations(facts, id - slice.firstClass, member)
  const parameterIndex = parameters.findIndex(({ annotations: on }) => on.includes(row))
  return { ...method, parameterIndex, parameterName: parameters[parameterIndex]?.name ?? '' }
}

function onType(facts: Facts, row: number): Pick<AnnotationUsage, 'onType'> {
  const isOnType = (facts.annotations.targetKind[row] ?? 0) >= TARGET.CLASS_TYPE
  return isOnType ? { onType: typePosition(facts, row) } : {}
}

function counts(usages: readonly UsageLocation[]): Readonly<Record<string, number>> {
  const found: Record<string, number> = {}
  for (const { target } of usages) found[target] = (found[target] ?? 0) + 1
  return found
}
