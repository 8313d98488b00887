import { ACC } from '../../bytecode/access-flags.ts'
import { TARGET } from '../../bytecode/columns.ts'
import { type Facts, rows } from '../../bytecode/facts.ts'
import type { Snapshot } from '../snapshot.ts'
import { WrittenCode } from '../written/written-code.ts'
import { classesIn, referenceKindOf, targetOf } from './compiled-references.ts'
import { findReferences, memberAt } from './find-references.ts'

/** Name of a field or method; null for the class itself. */
export type MemberName = string | null

/**
 * Returns the distinct members of the written class for which a class counts that use a type in some way; null
 * stands for the class itself.
 *
 * @param name the type's internal name
 * @param kind of `USE`
 */
export function membersNaming(
  snapshot: Snapshot,
  id: number,
  name: string,
  kind: number,
): ReadonlySet<MemberName> {
  const code = WrittenCode.of(snapshot)
  const reference = referenceKindOf(kind)
  const counted = code.classOf(id)
  if (reference !== undefined) {
    const found = findReferences(snapshot, code, id, name, reference, true)
    return new Set(found.map(({ classId, member }) => (classId === counted ? member : null)))
  }
  const slice = snapshot.index.sliceOf(id)
  const mentions = membersMentioning(snapshot.facts(slice), id - slice.firstClass, name)
  return new Set(
    mentions.flatMap((at) => {
      if (typeof at === 'number') return namesAt(snapshot, code, id, counted, at)
      return [id === counted ? at : null]
    }),
  )
}

/** Returns the names of the methods for which one counts. */
function namesAt(
  snapshot: Snapshot,
  code: WrittenCode,
  part: number,
  id: number,
  method: number,
): readonly MemberName[] {
  return code
    .placesOf(part, method)
    .map((place) => (place.classId === id ? memberAt(snapshot, place).member : null))
}

/** Name of a field or method, row of a method, or null for the class itself. */
type Mention = MemberName | number

/**
 * Returns members that mention a type in code or in an annotation's value; without any, those that mention it
 * in their signature, and else the class itself.
 */
function membersMentioning(facts: Facts, row: number, name: string): readonly Mention[] {
  const { classes, fields, methods, strings } = facts
  const known = new Map<number, boolean>()
  const mentions = (id = -1): boolean => {
    let found = known.get(id)
    if (found === undefined) {
      const text = id < 0 ? '' : strings.get(id)
      found = text === name || (text.includes(name) && classesIn(strings, id).has(name))
      known.set(id, found)
    }
    return found
  }
  const ownMethods = rows(classes.firstMethod, row)
  const inCode = ownMethods.filter((method) => codeMentions(facts, method, mentions))
  const inAnnotations = rows(classes.firstAnnotation, row).flatMap((annotation) =>
    annotationMentions(facts, annotation, mentions) ? [ownerOf(facts, annotation)] : [],
  )
  if (inCode.length + inAnnotations.length > 0) return [...inAnnotations, ...inCode]
  const isIn = ({ descriptor, signature }: Signatures, member: number): boolean =>
    mentions(descriptor[member]) || mentions(signature[member])
  const inSignatures = [
    ...rows(classes.firstField, row)
      .filter((field) => isIn(fields, field))
      .map((field) =>
        ((fields.accessFlags[field] ?? 0) & ACC.SYNTHETIC) === 0
          ? strings.get(fields.name[field] ?? 0)
          : null,
      ),
    ...ownMethods.filter((method) => isIn(methods, method)),
  ]
  return inSignatures.length === 0 ? [null] : inSignatures
}

type Signatures = Pick<Facts['methods'], 'descriptor' | 'signature'>
type Mentions = (id: number | undefined) => boolean

/** Whether code mentions a type in a way that no reference kind covers. */
function codeMentions(facts: Facts, method: number, mentions: Mentions): boolean {
  const { methods, fieldAccesses, calls, dynamicCalls } = facts
  return (
    rows(methods.firstFieldAccess, method).some((at) => mentions(fieldAccesses.descriptor[at])) ||
    rows(methods.firstCall, method).some(
      (at) => isUnnamedReceiver(facts, at, mentions) || mentions(calls.descriptor[at]),
    ) ||
    rows(methods.firstDynamicCall, method).some(
      (at) =>
        mentions(dynamicCalls.descriptor[at]) ||
        mentions(dynamicCalls.bootstrapOwner[at]) ||
        mentions(dynamicCalls.handleOwner[at]) ||
        mentions(dynamicCalls.handleDescriptor[at]),
    )
  )
}

/** Whether a call's receiver is not a CALL_RECEIVER: a constructor's owner, or an array's element. */
function isUnnamedReceiver({ calls, strings }: Facts, call: number, mentions: Mentions): boolean {
  if (!mentions(calls.owner[call])) return false
  return (
    strings.get(calls.name[call] ?? 0) === '<init>' || strings.get(calls.owner[call] ?? 0).startsWith('[')
  )
}

/** Whether an annotation's values mention a class; its own type counts if it is itself a value. */
function annotationMentions(
  { annotations, elements }: Facts,
  annotation: number,
  mentions: Mentions,
): boolean {
  const start = annotations.elementStart[annotation] ?? 0
  const isInElements = (first: number, count: number): boolean =>
    Array.from({ length: count }, (_, at) => first + at).some((element) => {
      const tag = String.fromCharCode(elements.tag[element] ?? 0)
      if (tag === 'c') return mentions(elements.value[element])
      if (tag === 'e') return mentions(elements.high[element])
      return tag === '[' && isInElements(elements.value[element] ?? 0, elements.high[element] ?? 0)
    })
  const isValue = annotations.targetKind[annotation] === TARGET.ANNOTATION
  return (
    (isValue && mentions(annotations.type[annotation])) ||
    isInElements(start, annotations.elementCount[annotation] ?? 0)
  )
}

/** Returns the member that has an annotation, or the annotation that contains it. */
function ownerOf(facts: Facts, annotation: number): Mention {
  const { annotations } = facts
  const target = annotations.target[annotation] ?? 0
  const kind = annotations.targetKind[annotation]
  if (kind === TARGET.ANNOTATION) return ownerOf(facts, target)
  if (kind === TARGET.ANNOTATION_DEFAULT) return target
  const { member, method } = targetOf(facts, annotation)
  return method ?? member
}
