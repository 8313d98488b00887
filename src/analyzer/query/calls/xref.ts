import { REFERENCE_KINDS } from '../../choices.ts'
import { NEW, TARGET } from '../../bytecode/columns.ts'
import { type Facts, isOnSource, rows } from '../../bytecode/facts.ts'
import { fault } from '../../errors.ts'
import { USE } from '../../index/digest.ts'
import { readField, readMethod, RETURN } from '../../index/type-names.ts'
import { textOf } from '../../bytecode/string-table.ts'
import { annotationView } from '../annotations/annotation-value.ts'
import { lineOf } from './calls.ts'
import { packageOf, simpleNameOf, toFqn, typeOfDescriptor } from '../names.ts'
import { pageOfGroups, type Paging } from '../page.ts'
import type { Snapshot } from '../snapshot.ts'
import { allSubtypes } from '../types/subtypes.ts'

export type ReferenceKind = (typeof REFERENCE_KINDS)[number]

export interface XrefFilter {
  readonly kind?: string | undefined
  /** Only references from classes below this type. */
  readonly scopeImplementing?: string | undefined
  readonly includeLibraries: boolean
}

export interface Reference {
  readonly fromFqn: string
  readonly fromSimpleName: string
  readonly fromSource: string
  readonly kind: ReferenceKind
  /** Field, or method with its descriptor; '' for the class itself. */
  readonly member: string
  readonly detail: string
  readonly lineNumber: number | null
}

interface Use {
  readonly id: number
  readonly kind: ReferenceKind
  readonly count: number
}

/**
 * Where a type is referred to, by class, kind and place in the class. What the code does with it is looked for in project
 * classes only.
 *
 * @throws BAD_REQUEST for an unknown kind and CLASS_NOT_FOUND for a type that nothing names
 */
export function xrefOf(snapshot: Snapshot, typeFqn: string, filter: XrefFilter, paging: Paging) {
  const kind = parseKind(filter.kind)
  const { index } = snapshot
  const name = snapshot.findName(typeFqn)
  if (name === undefined) {
    throw fault('CLASS_NOT_FOUND', `nothing in the project names a type "${typeFqn}"`)
  }
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
    },
  }
}

function parseKind(kind: string | undefined): ReferenceKind | undefined {
  if (kind === undefined) return undefined
  const known = REFERENCE_KINDS.find((each) => each === kind.toUpperCase())
  if (known !== undefined) return known
  throw fault('BAD_REQUEST', `kind "${kind}" must be one of ${REFERENCE_KINDS.join(', ')}`)
}

/** By the class's name, then by kind. */
function usesOf(snapshot: Snapshot, name: number, filter: XrefFilter): readonly Use[] {
  const { index } = snapshot
  const { scopeImplementing, includeLibraries } = filter
  const scope =
    scopeImplementing === undefined ? undefined : allSubtypes(snapshot, snapshot.findName(scopeImplementing))
  const ranks = index.ranks()
  const uses: { id: number; rank: number; place: number; count: number }[] = []
  for (const { id, kind, count } of index.usesOf(name)) {
    if (kind > USE.CALL_RECEIVER || index.isHidden(id)) continue
    const isInCode = kind === USE.INSTANTIATION || kind === USE.CALL_RECEIVER
    if (!snapshot.counts(id, includeLibraries && !isInCode)) continue
    if (scope?.has(id) === false) continue
    uses.push({ id, rank: ranks[id] ?? 0, place: kind, count })
  }
  return uses
    .toSorted((a, b) => a.rank - b.rank || a.place - b.place)
    .map(({ id, place, count }) => ({ id, kind: REFERENCE_KINDS[place] ?? 'EXTENDS', count }))
}

function referencesIn(snapshot: Snapshot, name: string, { id, kind }: Use): readonly Reference[] {
  const slice = snapshot.index.sliceOf(id)
  const facts = snapshot.facts(slice)
  const fromFqn = snapshot.fqnOf(id)
  const from = { fromFqn, fromSimpleName: simpleNameOf(fromFqn), fromSource: slice.source, kind }
  return finders[kind](facts, id - slice.firstClass, name).map((each) => ({
    lineNumber: null,
    ...from,
    ...each,
  }))
}

type Found = Pick<Reference, 'member' | 'detail'> & Partial<Pick<Reference, 'lineNumber'>>

/** They find, in the same order, what the digest has counted. */
const finders: Readonly<
  Record<ReferenceKind, (facts: Facts, row: number, name: string) => readonly Found[]>
> = {
  EXTENDS: (_facts, _row, name) => [{ member: '', detail: `extends ${toFqn(name)}` }],
  IMPLEMENTS: (_facts, _row, name) => [{ member: '', detail: `implements ${toFqn(name)}` }],

  FIELD: ({ classes, fields, strings }, row, name) =>
    rows(classes.firstField, row)
      .filter((field) => {
        const signature = fields.signature[field] ?? -1
        return classesIn(strings, signature >= 0 ? signature : (fields.descriptor[field] ?? 0)).has(name)
      })
      .map((field) => ({
        member: strings.get(fields.name[field] ?? 0),
        detail: typeOfDescriptor(strings.get(fields.descriptor[field] ?? 0)),
      })),

  PARAM: (facts, row, name) =>
    rows(facts.classes.firstMethod, row).flatMap((method) =>
      signatureOf(facts, method).parameters.flatMap((types, place) =>
        types.has(name) ? [{ member: memberOf(facts, method), detail: `parameter ${place}` }] : [],
      ),
    ),

  RETURN: (facts, row, name) =>
    rows(facts.classes.firstMethod, row)
      .filter((method) => signatureOf(facts, method).returns.has(name))
      .map((method) => ({ member: memberOf(facts, method), detail: 'return type' })),

  ANNOTATION: (facts, row, name) =>
    rows(facts.classes.firstAnnotation, row)
      .filter(
        (each) => isOnSource(facts, each) && facts.strings.get(facts.annotations.type[each] ?? 0) === name,
      )
      .map((each) => ({ member: targetOf(facts, each), detail: `@${annotationView(facts, each).type}` })),

  INSTANTIATION: (facts, row, name) =>
    inMethods(facts, row, facts.methods.firstTypeReference, ({ typeReferences, strings }, at) =>
      typeReferences.opcode[at] === NEW && strings.get(typeReferences.name[at] ?? 0) === name
        ? { detail: `new ${toFqn(name)}`, lineNumber: lineOf(typeReferences.line[at]) }
        : undefined,
    ),

  CALL_RECEIVER: (facts, row, name) =>
    inMethods(facts, row, facts.methods.firstCall, ({ calls, strings }, at) => {
      if (strings.get(calls.owner[at] ?? 0) !== name) return undefined
      const called = strings.get(calls.name[at] ?? 0)
      if (called === '<init>') return undefined
      return { detail: called + strings.get(calls.descriptor[at] ?? 0), lineNumber: lineOf(calls.line[at]) }
    }),
}

function inMethods(
  facts: Facts,
  row: number,
  first: Int32Array,
  find: (facts: Facts, at: number) => Omit<Found, 'member'> | undefined,
): readonly Found[] {
  return rows(facts.classes.firstMethod, row).flatMap((method) =>
    rows(first, method).flatMap((at) => {
      const found = find(facts, at)
      return found === undefined ? [] : [{ member: memberOf(facts, method), ...found }]
    }),
  )
}

/** As the digest has counted it. */
function signatureOf({ methods, strings }: Facts, method: number): MethodTypes {
  const erased = methodTypes(strings, methods.descriptor[method] ?? 0)
  const signature = methods.signature[method] ?? -1
  if (signature < 0) return erased
  const full = methodTypes(strings, signature)
  return full.parameters.length === erased.parameters.length ? full : { ...erased, returns: full.returns }
}

interface MethodTypes {
  readonly parameters: readonly ReadonlySet<string>[]
  readonly returns: ReadonlySet<string>
}

function methodTypes({ bytes, offsets }: Facts['strings'], id: number): MethodTypes {
  const parameters: Set<string>[] = []
  const returns = new Set<string>()
  const [start = 0, end = 0] = offsets.subarray(id, id + 2)
  const count = readMethod(bytes, start, end, (place, ...name) => {
    const types = place === RETURN ? returns : (parameters[place] ??= new Set())
    types.add(textOf(...name))
  })
  // Those that name no class are holes.
  return { parameters: Array.from({ length: count }, (_, place) => parameters[place] ?? new Set()), returns }
}

function classesIn({ bytes, offsets }: Facts['strings'], id: number): ReadonlySet<string> {
  const found = new Set<string>()
  const [start = 0, end = 0] = offsets.subarray(id, id + 2)
  readField(bytes, start, end, (...name) => found.add(textOf(...name)))
  return found
}

function memberOf({ methods, strings }: Facts, method: number): string {
  return strings.get(methods.name[method] ?? 0) + strings.get(methods.descriptor[method] ?? 0)
}

function targetOf(facts: Facts, row: number): string {
  const { annotations, fields, recordComponents, strings } = facts
  const target = annotations.target[row] ?? 0
  const kind = annotations.targetKind[row]
  if (kind === TARGET.FIELD) return strings.get(fields.name[target] ?? 0)
  if (kind === TARGET.RECORD_COMPONENT) return strings.get(recordComponents.name[target] ?? 0)
  return kind === TARGET.METHOD || kind === TARGET.PARAMETER ? memberOf(facts, target) : ''
}

function sums(uses: readonly Use[], keyOf: (use: Use) => string): Readonly<Record<string, number>> {
  const counts = new Map<string, number>()
  for (const use of uses) {
    const key = keyOf(use)
    counts.set(key, (counts.get(key) ?? 0) + use.count)
  }
  return Object.fromEntries(counts)
}
