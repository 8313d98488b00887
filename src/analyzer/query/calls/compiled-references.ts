import { ACC } from '../../bytecode/access-flags.ts'
import { DIRECTIVE, OPCODE, TARGET } from '../../bytecode/columns.ts'
import { type Facts, isOnSource, rows } from '../../bytecode/facts.ts'
import { isMetafactory, WrittenMethods } from '../../bytecode/written-methods.ts'
import { REFERENCE_KINDS, type ReferenceKind } from '../../choices.ts'
import { USE } from '../../index/digest.ts'
import { readField, readMethod, readTypeParameters, RETURN } from '../../index/type-names.ts'
import { lineOf, toFqn, typeOfDescriptor, typesOfMethod } from '../names.ts'
import type { Called } from '../written/attribution.ts'

/** Kind that `xref` reports for a use, and whether it is in a synthetic member. */
export interface CountedKind {
  readonly kind: ReferenceKind
  readonly isSynthetic: boolean
}

const SYNTHETIC: Readonly<Record<number, ReferenceKind>> = {
  [USE.SYNTHETIC_FIELD]: 'FIELD',
  [USE.SYNTHETIC_PARAM]: 'PARAM',
  [USE.SYNTHETIC_RETURN]: 'RETURN',
}

/**
 * Returns the kind that `xref` reports for a use, or undefined if it reports none.
 *
 * @param use of `USE`
 */
export function referenceKindOf(use: number): CountedKind | undefined {
  const synthetic = SYNTHETIC[use]
  const kind = synthetic ?? REFERENCE_KINDS[use]
  return kind === undefined ? undefined : { kind, isSynthetic: synthetic !== undefined }
}

/** Describes a reference; `Reference` in xref.ts documents the fields. */
export interface Details {
  readonly detail: string
  readonly lineNumber?: number | null
  readonly parameterIndex?: number
  readonly calledDescriptor?: string
}

/** A member; null for the class itself. */
export interface Member {
  readonly member: string | null
  readonly descriptor: string | null
}

/** A reference as it was compiled. */
export interface CompiledReference extends Member {
  /** Row of the method with the reference. */
  readonly method?: number
  /** Row of the call with the reference. */
  readonly call?: number
  /** The called method or the accessed field. */
  readonly called?: Called
  readonly details: Details
}

/** The class itself as a member. */
export const ITSELF: Member = { member: null, descriptor: null }

type Finder = (facts: Facts, row: number, name: string, isSynthetic: boolean) => readonly CompiledReference[]

/** Functions that find the uses counted in the digest. */
export const finders: Readonly<Record<ReferenceKind, Finder>> = {
  EXTENDS: (_facts, _row, name) => [{ ...ITSELF, details: { detail: toFqn(name) } }],
  IMPLEMENTS: (_facts, _row, name) => [{ ...ITSELF, details: { detail: toFqn(name) } }],

  FIELD: ({ classes, fields, strings }, row, name, isSynthetic) =>
    rows(classes.firstField, row)
      .filter((field) => isSyntheticMember(fields.accessFlags[field]) === isSynthetic)
      .filter((field) => typesOf(strings, fields, field).has(name))
      .map((field) => ({
        member: strings.get(fields.name[field] ?? 0),
        descriptor: null,
        details: { detail: typeOfDescriptor(strings.get(fields.descriptor[field] ?? 0)) },
      })),

  PARAM: (facts, row, name, isSynthetic) =>
    methodsOf(facts, row, isSynthetic).flatMap((method) => {
      const member = methodMember(facts, method)
      const types = typesOfMethod(member.descriptor).parameters
      return signatureOf(facts, method).parameters.flatMap((names, place) =>
        names.has(name)
          ? [{ ...member, details: { detail: types[place] ?? toFqn(name), parameterIndex: place } }]
          : [],
      )
    }),

  RETURN: (facts, row, name, isSynthetic) =>
    methodsOf(facts, row, isSynthetic)
      .filter((method) => signatureOf(facts, method).returns.has(name))
      .map((method) => methodMember(facts, method))
      .map((member) => ({ ...member, details: { detail: typesOfMethod(member.descriptor).returns } })),

  ANNOTATION: (facts, row, name) =>
    rows(facts.classes.firstAnnotation, row)
      .filter(
        (each) => isOnSource(facts, each) && facts.strings.get(facts.annotations.type[each] ?? 0) === name,
      )
      .map((each) => ({ ...targetOf(facts, each), details: { detail: toFqn(name) } })),

  THROWS: (facts, row, name) =>
    inMethods(facts, row, facts.methods.firstException, ({ exceptions, strings }, at) =>
      strings.get(exceptions.name[at] ?? 0) === name ? { detail: toFqn(name) } : undefined,
    ),

  PERMITS: (_facts, _row, name) => [{ ...ITSELF, details: { detail: toFqn(name) } }],

  RECORD_COMPONENT: ({ classes, recordComponents, strings }, row, name) =>
    rows(classes.firstRecordComponent, row)
      .filter((component) => typesOf(strings, recordComponents, component).has(name))
      .map((component) => ({
        member: strings.get(recordComponents.name[component] ?? 0),
        descriptor: null,
        details: { detail: typeOfDescriptor(strings.get(recordComponents.descriptor[component] ?? 0)) },
      })),

  TYPE_PARAMETER: (facts, row, name) => {
    const { classes, methods, strings } = facts
    const isBound = (signature = -1) =>
      signature >= 0 && named((found) => readTypeParameters(strings.get(signature), found)).has(name)
    const details = { detail: toFqn(name) }
    return [
      ...(isBound(classes.signature[row]) ? [{ ...ITSELF, details }] : []),
      ...rows(classes.firstMethod, row)
        .filter((method) => isBound(methods.signature[method]))
        .map((method) => ({ ...methodMember(facts, method), details })),
    ]
  },

  TYPE_ARGUMENT: (_facts, _row, name) => [{ ...ITSELF, details: { detail: toFqn(name) } }],

  SERVICE: ({ classes, moduleDirectives, strings }, row, name) =>
    rows(classes.firstModuleDirective, row).flatMap((each) => {
      const isUse = moduleDirectives.kind[each] === DIRECTIVE.USES
      if (!isUse && moduleDirectives.kind[each] !== DIRECTIVE.PROVIDES) return []
      const types = [moduleDirectives.name[each], ...(isUse ? [] : [moduleDirectives.target[each]])]
      return types
        .filter((type) => strings.get(type ?? 0) === name)
        .map(() => ({ ...ITSELF, details: { detail: toFqn(name) } }))
    }),

  INSTANTIATION: inTypeReferences([OPCODE.NEW]),
  CAST: inTypeReferences([OPCODE.CHECKCAST]),
  INSTANCEOF: inTypeReferences([OPCODE.INSTANCEOF]),
  ARRAY_CREATION: inTypeReferences([OPCODE.ANEWARRAY, OPCODE.MULTIANEWARRAY]),
  CLASS_LITERAL: inTypeReferences([OPCODE.LDC]),
  CATCH: inTypeReferences([OPCODE.CATCH]),

  CALL_RECEIVER: (facts, row, name) =>
    callReferences(
      facts,
      row,
      (at) =>
        facts.strings.get(facts.calls.owner[at] ?? 0) === name &&
        facts.strings.get(facts.calls.name[at] ?? 0) !== '<init>',
    ),

  FIELD_READ: inFieldAccesses([OPCODE.GETSTATIC, OPCODE.GETFIELD]),
  FIELD_WRITE: inFieldAccesses([OPCODE.PUTSTATIC, OPCODE.PUTFIELD]),

  METHOD_REFERENCE: (facts, row, name) => {
    const own = WrittenMethods.of(facts, row)
    return inMethods(facts, row, facts.methods.firstDynamicCall, ({ dynamicCalls, strings }, at) => {
      if (!own.isMethodReference(at)) return undefined
      if (elementOf(strings.get(dynamicCalls.handleOwner[at] ?? 0)) !== name) return undefined
      return {
        detail: strings.get(dynamicCalls.handleName[at] ?? 0),
        calledDescriptor: strings.get(dynamicCalls.handleDescriptor[at] ?? 0),
        lineNumber: lineOf(dynamicCalls.line[at]),
      }
    })
  },

  LAMBDA: (facts, row, name) =>
    inMethods(facts, row, facts.methods.firstDynamicCall, ({ dynamicCalls, strings }, at) => {
      const { returns } = methodTypes(strings.get(dynamicCalls.descriptor[at] ?? 0), undefined)
      return isMetafactory(facts, at) && returns.has(name)
        ? { detail: toFqn(name), lineNumber: lineOf(dynamicCalls.line[at]) }
        : undefined
    }),
}

function inTypeReferences(opcodes: readonly number[]): Finder {
  return (facts, row, name) =>
    inMethods(facts, row, facts.methods.firstTypeReference, ({ typeReferences, strings }, at) =>
      opcodes.includes(typeReferences.opcode[at] ?? 0) &&
      elementOf(strings.get(typeReferences.name[at] ?? 0)) === name
        ? { detail: toFqn(name), lineNumber: lineOf(typeReferences.line[at]) }
        : undefined,
    )
}

function inFieldAccesses(opcodes: readonly number[]): Finder {
  return (facts, row, name) => {
    const { classes, methods, fieldAccesses, strings } = facts
    return rows(classes.firstMethod, row).flatMap((method) =>
      rows(methods.firstFieldAccess, method)
        .filter(
          (at) =>
            opcodes.includes(fieldAccesses.opcode[at] ?? 0) &&
            strings.get(fieldAccesses.owner[at] ?? 0) === name,
        )
        .map((at) => ({
          ...methodMember(facts, method),
          called: memberIn(strings, fieldAccesses, at),
          details: {
            detail: strings.get(fieldAccesses.name[at] ?? 0),
            lineNumber: lineOf(fieldAccesses.line[at]),
          },
        })),
    )
  }
}

/** Returns the member that a row of a table of instructions names. */
function memberIn(
  strings: Facts['strings'],
  { owner, name, descriptor }: Facts['calls'] | Facts['fieldAccesses'],
  at: number,
): Called {
  return {
    owner: strings.get(owner[at] ?? 0),
    name: strings.get(name[at] ?? 0),
    descriptor: strings.get(descriptor[at] ?? 0),
  }
}

/** Returns the element class of a class name in code, which may be an array. */
function elementOf(name: string): string {
  return name.startsWith('[') ? name.replace(/^\[+L?/u, '').replace(/;$/u, '') : name
}

function isSyntheticMember(accessFlags = 0): boolean {
  return (accessFlags & ACC.SYNTHETIC) !== 0
}

function methodsOf({ classes, methods }: Facts, row: number, isSynthetic: boolean): readonly number[] {
  return rows(classes.firstMethod, row).filter(
    (method) => isSyntheticMember(methods.accessFlags[method]) === isSynthetic,
  )
}

/** Returns the calls in a class that pass a test. */
export function callReferences(
  facts: Facts,
  row: number,
  isWanted: (call: number) => boolean,
): readonly CompiledReference[] {
  const { classes, methods, calls, strings } = facts
  return rows(classes.firstMethod, row).flatMap((method) =>
    rows(methods.firstCall, method)
      .filter(isWanted)
      .map((call) => ({
        ...methodMember(facts, method),
        call,
        called: memberIn(strings, calls, call),
        details: {
          detail: strings.get(calls.name[call] ?? 0),
          calledDescriptor: strings.get(calls.descriptor[call] ?? 0),
          lineNumber: lineOf(calls.line[call]),
        },
      })),
  )
}

function inMethods(
  facts: Facts,
  row: number,
  first: Int32Array,
  find: (facts: Facts, at: number) => Details | undefined,
): readonly CompiledReference[] {
  return rows(facts.classes.firstMethod, row).flatMap((method) =>
    rows(first, method).flatMap((at) => {
      const details = find(facts, at)
      return details === undefined ? [] : [{ ...methodMember(facts, method), details }]
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
  /** By position in the descriptor. */
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
  // Parameters without classes are holes.
  return { parameters: Array.from(parameters, (types) => types ?? new Set()), returns }
}

/** Returns the types in the descriptor and signature of a field or record component. */
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

/** Returns the classes in a descriptor or signature. */
export function classesIn(strings: Facts['strings'], id: number): ReadonlySet<string> {
  return named((found) => readField(strings.get(id), found))
}

function named(read: (found: (name: string) => void) => void): ReadonlySet<string> {
  const names = new Set<string>()
  read((name) => names.add(name))
  return names
}

function methodMember({ methods, strings }: Facts, method: number) {
  return {
    method,
    member: strings.get(methods.name[method] ?? 0),
    descriptor: strings.get(methods.descriptor[method] ?? 0),
  }
}

/** Returns the member that has an annotation; the row of a method. */
export function targetOf(facts: Facts, row: number): Member & { readonly method?: number } {
  const { annotations, fields, recordComponents, strings } = facts
  const target = annotations.target[row] ?? 0
  const memberNamed = (id = 0): Member => ({ member: strings.get(id), descriptor: null })
  switch (annotations.targetKind[row] ?? TARGET.CLASS) {
    case TARGET.CLASS:
    case TARGET.CLASS_TYPE:
      return ITSELF
    case TARGET.FIELD:
    case TARGET.FIELD_TYPE:
      return memberNamed(fields.name[target])
    case TARGET.RECORD_COMPONENT:
    case TARGET.RECORD_COMPONENT_TYPE:
      return memberNamed(recordComponents.name[target])
    default:
      return methodMember(facts, target)
  }
}
