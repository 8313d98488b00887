import { REFERENCE_KINDS } from '../../choices.ts'
import { DIRECTIVE, OPCODE, TARGET } from '../../bytecode/columns.ts'
import { type Facts, isOnSource, rows } from '../../bytecode/facts.ts'
import { fault } from '../../errors.ts'
import { USE } from '../../index/digest.ts'
import { isMetafactory, isMethodReference, lambdaOwners } from '../../bytecode/lambdas.ts'
import { readField, readMethod, readTypeParameters, RETURN } from '../../index/type-names.ts'
import { annotationView } from '../annotations/annotation-value.ts'
import { ACC } from '../../bytecode/access-flags.ts'
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
  /** Fields, parameters and return types of members that the compiler made too. */
  readonly includeSynthetic: boolean
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
  readonly isSynthetic: boolean
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
      ...(filter.includeSynthetic ? { synthetic: true } : {}),
    },
  }
}

function parseKind(kind: string | undefined): ReferenceKind | undefined {
  if (kind === undefined) return undefined
  const known = REFERENCE_KINDS.find((each) => each === kind.toUpperCase())
  if (known !== undefined) return known
  throw fault('BAD_REQUEST', `kind "${kind}" must be one of ${REFERENCE_KINDS.join(', ')}`)
}

/** What is counted apart for members that the compiler made. */
const MADE_BY_COMPILER: Readonly<Record<number, number>> = {
  [USE.SYNTHETIC_FIELD]: USE.FIELD,
  [USE.SYNTHETIC_PARAM]: USE.PARAM,
  [USE.SYNTHETIC_RETURN]: USE.RETURN,
}

/** The kinds that are found in code, and so in project classes only. */
const IN_CODE: ReadonlySet<ReferenceKind> = new Set([
  'INSTANTIATION',
  'CALL_RECEIVER',
  'FIELD_READ',
  'FIELD_WRITE',
  'CAST',
  'INSTANCEOF',
  'ARRAY_CREATION',
  'CLASS_LITERAL',
  'CATCH',
  'METHOD_REFERENCE',
  'LAMBDA',
])

/** By the class's name, then by kind. */
function usesOf(snapshot: Snapshot, name: number, filter: XrefFilter): readonly Use[] {
  const { index } = snapshot
  const { scopeImplementing, includeLibraries, includeSynthetic } = filter
  const scope =
    scopeImplementing === undefined ? undefined : allSubtypes(snapshot, snapshot.findName(scopeImplementing))
  const ranks = index.ranks()
  const uses: (Use & { readonly place: number })[] = []
  for (const { id, kind: use, count } of index.usesOf(name)) {
    const isSynthetic = use in MADE_BY_COMPILER
    const place = MADE_BY_COMPILER[use] ?? use
    const kind = REFERENCE_KINDS[place]
    if (kind === undefined || index.isHidden(id) || (isSynthetic && !includeSynthetic)) continue
    if (!snapshot.counts(id, includeLibraries && !IN_CODE.has(kind))) continue
    if (scope?.has(id) === false) continue
    uses.push({ id, place, kind, isSynthetic, count })
  }
  return uses.toSorted((a, b) => (ranks[a.id] ?? 0) - (ranks[b.id] ?? 0) || a.place - b.place)
}

function referencesIn(
  snapshot: Snapshot,
  name: string,
  { id, kind, isSynthetic }: Use,
): readonly Reference[] {
  const slice = snapshot.index.sliceOf(id)
  const facts = snapshot.facts(slice)
  const fromFqn = snapshot.fqnOf(id)
  const from = { fromFqn, fromSimpleName: simpleNameOf(fromFqn), fromSource: slice.source, kind }
  return finders[kind](facts, id - slice.firstClass, name, isSynthetic).map((each) => ({
    lineNumber: null,
    ...from,
    ...each,
  }))
}

type Found = Pick<Reference, 'member' | 'detail'> & Partial<Pick<Reference, 'lineNumber'>>

type Finder = (facts: Facts, row: number, name: string, isSynthetic: boolean) => readonly Found[]

/** Each finds what the digest has counted. */
const finders: Readonly<Record<ReferenceKind, Finder>> = {
  EXTENDS: (_facts, _row, name) => [{ member: '', detail: `extends ${toFqn(name)}` }],
  IMPLEMENTS: (_facts, _row, name) => [{ member: '', detail: `implements ${toFqn(name)}` }],

  FIELD: ({ classes, fields, strings }, row, name, isSynthetic) =>
    rows(classes.firstField, row)
      .filter((field) => isMade(fields.accessFlags[field]) === isSynthetic)
      .filter((field) => typesOf(strings, fields, field).has(name))
      .map((field) => ({
        member: strings.get(fields.name[field] ?? 0),
        detail: typeOfDescriptor(strings.get(fields.descriptor[field] ?? 0)),
      })),

  PARAM: (facts, row, name, isSynthetic) =>
    methodsOf(facts, row, isSynthetic).flatMap((method) =>
      signatureOf(facts, method).parameters.flatMap((types, place) =>
        types.has(name) ? [{ member: memberOf(facts, method), detail: `parameter ${place}` }] : [],
      ),
    ),

  RETURN: (facts, row, name, isSynthetic) =>
    methodsOf(facts, row, isSynthetic)
      .filter((method) => signatureOf(facts, method).returns.has(name))
      .map((method) => ({ member: memberOf(facts, method), detail: 'return type' })),

  ANNOTATION: (facts, row, name) =>
    rows(facts.classes.firstAnnotation, row)
      .filter(
        (each) => isOnSource(facts, each) && facts.strings.get(facts.annotations.type[each] ?? 0) === name,
      )
      .map((each) => ({ member: targetOf(facts, each), detail: `@${annotationView(facts, each).type}` })),

  THROWS: (facts, row, name) =>
    inMethods(facts, row, facts.methods.firstException, ({ exceptions, strings }, at) =>
      strings.get(exceptions.name[at] ?? 0) === name ? { detail: `throws ${toFqn(name)}` } : undefined,
    ),

  PERMITS: (_facts, _row, name) => [{ member: '', detail: `permits ${toFqn(name)}` }],

  RECORD_COMPONENT: ({ classes, recordComponents, strings }, row, name) =>
    rows(classes.firstRecordComponent, row)
      .filter((component) => typesOf(strings, recordComponents, component).has(name))
      .map((component) => ({
        member: strings.get(recordComponents.name[component] ?? 0),
        detail: typeOfDescriptor(strings.get(recordComponents.descriptor[component] ?? 0)),
      })),

  TYPE_PARAMETER: (facts, row, name) => {
    const { classes, methods, strings } = facts
    const isBound = (signature = -1) =>
      signature >= 0 && named((found) => readTypeParameters(strings.get(signature), found)).has(name)
    const detail = `bound ${toFqn(name)}`
    return [
      ...(isBound(classes.signature[row]) ? [{ member: '', detail }] : []),
      ...rows(classes.firstMethod, row)
        .filter((method) => isBound(methods.signature[method]))
        .map((method) => ({ member: memberOf(facts, method), detail })),
    ]
  },

  TYPE_ARGUMENT: (_facts, _row, name) => [{ member: '', detail: `type argument ${toFqn(name)}` }],

  SERVICE: ({ classes, moduleDirectives, strings }, row, name) =>
    rows(classes.firstModuleDirective, row).flatMap((each) => {
      const isUse = moduleDirectives.kind[each] === DIRECTIVE.USES
      if (!isUse && moduleDirectives.kind[each] !== DIRECTIVE.PROVIDES) return []
      const service = strings.get(moduleDirectives.name[each] ?? 0)
      const provider = isUse ? undefined : strings.get(moduleDirectives.target[each] ?? 0)
      const detail =
        provider === undefined
          ? `uses ${toFqn(service)}`
          : `provides ${toFqn(service)} with ${toFqn(provider)}`
      return [service, provider].filter((type) => type === name).map(() => ({ member: '', detail }))
    }),

  INSTANTIATION: inTypeReferences([OPCODE.NEW], (type) => `new ${type}`),
  CAST: inTypeReferences([OPCODE.CHECKCAST], (type) => `(${type})`),
  INSTANCEOF: inTypeReferences([OPCODE.INSTANCEOF], (type) => `instanceof ${type}`),
  ARRAY_CREATION: inTypeReferences([OPCODE.ANEWARRAY, OPCODE.MULTIANEWARRAY], (type) => `new ${type}[]`),
  CLASS_LITERAL: inTypeReferences([OPCODE.LDC], (type) => `${type}.class`),
  CATCH: inTypeReferences([OPCODE.CATCH], (type) => `catch ${type}`),

  CALL_RECEIVER: (facts, row, name) =>
    inMethods(facts, row, facts.methods.firstCall, ({ calls, strings }, at) => {
      if (strings.get(calls.owner[at] ?? 0) !== name) return undefined
      const called = strings.get(calls.name[at] ?? 0)
      if (called === '<init>') return undefined
      return { detail: called + strings.get(calls.descriptor[at] ?? 0), lineNumber: lineOf(calls.line[at]) }
    }),

  FIELD_READ: inFieldAccesses([OPCODE.GETSTATIC, OPCODE.GETFIELD]),
  FIELD_WRITE: inFieldAccesses([OPCODE.PUTSTATIC, OPCODE.PUTFIELD]),

  METHOD_REFERENCE: (facts, row, name) => {
    const owners = lambdaOwners(facts, row)
    return inMethods(facts, row, facts.methods.firstDynamicCall, ({ dynamicCalls, strings }, at) => {
      if (elementOf(strings.get(dynamicCalls.handleOwner[at] ?? 0)) !== name) return undefined
      if (!isMethodReference(facts, at, owners)) return undefined
      const referred = strings.get(dynamicCalls.handleName[at] ?? 0)
      return {
        detail: `${toFqn(name)}::${referred === '<init>' ? 'new' : referred}`,
        lineNumber: lineOf(dynamicCalls.line[at]),
      }
    })
  },

  LAMBDA: (facts, row, name) =>
    inMethods(facts, row, facts.methods.firstDynamicCall, ({ dynamicCalls, strings }, at) => {
      const { returns } = methodTypes(strings.get(dynamicCalls.descriptor[at] ?? 0), undefined)
      return isMetafactory(facts, at) && returns.has(name)
        ? { detail: `implements ${toFqn(name)}`, lineNumber: lineOf(dynamicCalls.line[at]) }
        : undefined
    }),
}

function inTypeReferences(opcodes: readonly number[], detailOf: (type: string) => string): Finder {
  return (facts, row, name) =>
    inMethods(facts, row, facts.methods.firstTypeReference, ({ typeReferences, strings }, at) =>
      opcodes.includes(typeReferences.opcode[at] ?? 0) &&
      elementOf(strings.get(typeReferences.name[at] ?? 0)) === name
        ? { detail: detailOf(toFqn(name)), lineNumber: lineOf(typeReferences.line[at]) }
        : undefined,
    )
}

function inFieldAccesses(opcodes: readonly number[]): Finder {
  return (facts, row, name) =>
    inMethods(facts, row, facts.methods.firstFieldAccess, ({ fieldAccesses, strings }, at) =>
      opcodes.includes(fieldAccesses.opcode[at] ?? 0) && strings.get(fieldAccesses.owner[at] ?? 0) === name
        ? {
            detail: strings.get(fieldAccesses.name[at] ?? 0),
            lineNumber: lineOf(fieldAccesses.line[at]),
          }
        : undefined,
    )
}

/** The class of an array's elements, for a class name in code. */
function elementOf(name: string): string {
  return name.startsWith('[') ? name.replace(/^\[+L?/u, '').replace(/;$/u, '') : name
}

function isMade(accessFlags = 0): boolean {
  return (accessFlags & ACC.SYNTHETIC) !== 0
}

function methodsOf({ classes, methods }: Facts, row: number, isSynthetic: boolean): readonly number[] {
  return rows(classes.firstMethod, row).filter(
    (method) => isMade(methods.accessFlags[method]) === isSynthetic,
  )
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

function signatureOf({ methods, strings }: Facts, method: number): MethodTypes {
  const signature = methods.signature[method] ?? -1
  return methodTypes(
    strings.get(methods.descriptor[method] ?? 0),
    signature < 0 ? undefined : strings.get(signature),
  )
}

interface MethodTypes {
  /** By the place in the descriptor. */
  readonly parameters: readonly ReadonlySet<string>[]
  readonly returns: ReadonlySet<string>
}

function methodTypes(descriptor: string, signature: string | undefined): MethodTypes {
  const parameters: Set<string>[] = []
  const returns = new Set<string>()
  readMethod(descriptor, signature, (place, name) => {
    const types = place === RETURN ? returns : (parameters[place] ??= new Set())
    types.add(name)
  })
  // Those that name no class are holes.
  return { parameters: Array.from(parameters, (types) => types ?? new Set()), returns }
}

/** The types in the descriptor and signature of a field or record component. */
function typesOf(
  strings: Facts['strings'],
  { descriptor, signature }: Pick<Facts['fields'], 'descriptor' | 'signature'>,
  row: number,
): ReadonlySet<string> {
  return named((found) => {
    readField(strings.get(descriptor[row] ?? 0), found)
    const generic = signature[row] ?? -1
    if (generic >= 0) readField(strings.get(generic), found)
  })
}

function named(read: (found: (name: string) => void) => void): ReadonlySet<string> {
  const names = new Set<string>()
  read((name) => names.add(name))
  return names
}

function memberOf({ methods, strings }: Facts, method: number): string {
  return strings.get(methods.name[method] ?? 0) + strings.get(methods.descriptor[method] ?? 0)
}

function targetOf(facts: Facts, row: number): string {
  const { annotations, fields, recordComponents, strings } = facts
  const target = annotations.target[row] ?? 0
  const kind = annotations.targetKind[row]
  if (kind === TARGET.FIELD || kind === TARGET.FIELD_TYPE) return strings.get(fields.name[target] ?? 0)
  if (kind === TARGET.RECORD_COMPONENT || kind === TARGET.RECORD_COMPONENT_TYPE)
    return strings.get(recordComponents.name[target] ?? 0)
  return kind === TARGET.CLASS || kind === TARGET.CLASS_TYPE ? '' : memberOf(facts, target)
}

function sums(uses: readonly Use[], keyOf: (use: Use) => string): Readonly<Record<string, number>> {
  const counts = new Map<string, number>()
  for (const use of uses) {
    const key = keyOf(use)
    counts.set(key, (counts.get(key) ?? 0) + use.count)
  }
  return Object.fromEntries(counts)
}
