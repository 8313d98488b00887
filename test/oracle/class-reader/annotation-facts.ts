import { TARGET } from '../../../src/analyzer/bytecode/columns.ts'
import type { ClassContext } from './class-context.ts'
import { requireDescriptor } from './descriptor.ts'
import { ClassFormatError } from './class-format-error.ts'
import type { Annotation, Attribute, ElementValue } from './java-class-tools.ts'
import { TAG } from './pool.ts'

interface Target {
  readonly targetKind: number
  readonly target: number
  readonly isVisible: number
  readonly parameter?: number
  readonly parameterCount?: number
  readonly position?: number
  readonly path?: number
}

const MAX_DEPTH = 64

/** Adds the annotations of a Runtime…Annotations attribute; false for any other attribute. */
export function addAnnotations(
  context: ClassContext,
  attribute: Attribute,
  targetKind: number,
  target: number,
): boolean {
  const name = context.nameOf(attribute)
  if (name === 'RuntimeVisibleTypeAnnotations' || name === 'RuntimeInvisibleTypeAnnotations') {
    const isVisible = Number(name === 'RuntimeVisibleTypeAnnotations')
    for (const annotation of attribute.annotations)
      addAnnotation(context, annotation, { ...onType(context, annotation, targetKind), target, isVisible }, 0)
    return true
  }
  const isVisible = Number(name === 'RuntimeVisibleAnnotations')
  if (isVisible === 0 && name !== 'RuntimeInvisibleAnnotations') return false
  for (const annotation of attribute.annotations)
    addAnnotation(context, annotation, { targetKind, target, isVisible }, 0)
  return true
}

const TYPE_OF: Readonly<Record<number, number>> = {
  [TARGET.CLASS]: TARGET.CLASS_TYPE,
  [TARGET.FIELD]: TARGET.FIELD_TYPE,
  [TARGET.METHOD]: TARGET.METHOD_TYPE,
  [TARGET.RECORD_COMPONENT]: TARGET.RECORD_COMPONENT_TYPE,
}
// Values of target_type, JVMS tables 4.7.20-A and -B.
const [FIELD, RETURN, FORMAL_PARAMETER] = [0x13, 0x14, 0x16]

function onType(
  context: ClassContext,
  { target_type: position = 0, ...rest }: Annotation,
  targetKind: number,
) {
  const info = rest.target_info ?? {}
  const supertype = info.supertype_index === 0xffff ? -1 : info.supertype_index
  const path = (rest.type_path?.path ?? []).map(({ type_path_kind: kind, type_argument_index: argument }) => {
    if (kind > 3) throw new ClassFormatError(0, `a type path has a step of the unknown kind ${kind}`)
    return kind === 3 ? `${argument};` : '[.*'[kind]
  })
  const isParameter = targetKind === TARGET.METHOD && position === FORMAL_PARAMETER
  return {
    targetKind: isParameter ? TARGET.PARAMETER_TYPE : (TYPE_OF[targetKind] ?? 0),
    position,
    parameter:
      info.type_parameter_index ??
      supertype ??
      info.formal_parameter_index ??
      info.throws_type_index ??
      info.type_argument_index ??
      -1,
    parameterCount: info.bound_index ?? 0,
    path: path.length === 0 ? -1 : context.intern(path.join('')),
  }
}

/**
 * Marks annotations on types that repeat one on the declaration: an annotation that applies to both is
 * compiled twice.
 */
export function markRepeatedOnTypes({ facts }: ClassContext, first: number): void {
  const { type, targetKind, target, parameter, position, path } = facts.tables.annotations
  const declaredKind = (row: number): number | undefined => {
    const kind = targetKind[row]
    if (kind === TARGET.FIELD_TYPE && position[row] === FIELD) return TARGET.FIELD
    if (kind === TARGET.METHOD_TYPE && position[row] === RETURN) return TARGET.METHOD
    if (kind === TARGET.PARAMETER_TYPE) return TARGET.PARAMETER
    return kind === TARGET.RECORD_COMPONENT_TYPE && position[row] === FIELD
      ? TARGET.RECORD_COMPONENT
      : undefined
  }
  const placeOf = (row: number, kind = targetKind[row]) =>
    [type[row], kind, target[row], parameter[row]].join(' ')
  const own = Array.from({ length: type.length - first }, (_, at) => first + at)
  const declared = new Set(
    own.filter((row) => (targetKind[row] ?? 0) < TARGET.CLASS_TYPE).map((row) => placeOf(row)),
  )
  for (const row of own) {
    const kind = declaredKind(row)
    const isInside = (path[row] ?? -1) >= 0 && /[*;]/u.test(facts.text(path[row] ?? 0))
    if (kind !== undefined && !isInside && declared.has(placeOf(row, kind)))
      targetKind[row] = TARGET.REPEATED_ON_TYPE
  }
}

export function addParameterAnnotations(
  context: ClassContext,
  attribute: Attribute,
  method: number,
  isVisible: number,
): void {
  const { parameter_annotations: parameters } = attribute
  for (const [parameter, { annotations }] of parameters.entries()) {
    const place = { parameter, parameterCount: parameters.length }
    const target = { targetKind: TARGET.PARAMETER, target: method, isVisible, ...place }
    for (const annotation of annotations) addAnnotation(context, annotation, target, 0)
  }
}

export function addAnnotationDefault(context: ClassContext, attribute: Attribute, method: number): void {
  const elementStart = reserve(context, 1)
  const row = addRow(context, {
    targetKind: TARGET.ANNOTATION_DEFAULT,
    target: method,
    isVisible: 1,
  })
  const { annotations } = context.facts.tables
  annotations.elementStart[row] = elementStart
  annotations.elementCount[row] = 1
  addValue(context, attribute.default_value, elementStart, row, 1, 0)
}

function addRow(context: ClassContext, target: Target): number {
  return context.facts.add('annotations', { parameter: -1, path: -1, type: -1, ...target })
}

/** Reserves consecutive rows for the elements of one annotation or array; nested elements follow them. */
function reserve(context: ClassContext, count: number): number {
  const first = context.facts.tables.elements.name.length
  for (let i = 0; i < count; i++) context.facts.add('elements', { name: -1, value: -1 })
  return first
}

function addAnnotation(context: ClassContext, annotation: Annotation, target: Target, depth: number): number {
  const row = addRow(context, target)
  const { annotations, elements } = context.facts.tables
  const { classes } = requireDescriptor(context.pool.utf8(annotation.type_index), false)
  const [type] = classes
  if (type === undefined) throw new ClassFormatError(0, "an annotation's type is not a class")
  context.addReference(type)
  annotations.type[row] = context.intern(type)
  const pairs = annotation.element_value_pairs
  const first = reserve(context, pairs.length)
  annotations.elementStart[row] = first
  annotations.elementCount[row] = pairs.length
  for (const [i, pair] of pairs.entries()) {
    elements.name[first + i] = context.intern(context.pool.utf8(pair.element_name_index))
    addValue(context, pair.element_value, first + i, row, target.isVisible, depth)
  }
  return row
}

function addValue(
  context: ClassContext,
  { tag, value }: ElementValue,
  element: number,
  row: number,
  isVisible: number,
  depth: number,
): void {
  if (depth > MAX_DEPTH) throw new ClassFormatError(0, `element values are nested deeper than ${MAX_DEPTH}`)
  const { pool } = context
  const { elements } = context.facts.tables
  const set = (low: number, high = 0) => {
    elements.value[element] = low
    elements.high[element] = high
  }
  elements.tag[element] = tag
  const constant = value.const_value_index ?? 0
  switch (String.fromCharCode(tag)) {
    case 'F':
      return set(pool.word(constant, TAG.FLOAT))
    case 'D':
      return set(...pool.twoWords(constant, TAG.DOUBLE))
    case 'J':
      return set(...pool.twoWords(constant, TAG.LONG))
    case 's':
      return set(context.intern(pool.utf8(constant)))
    case 'e': {
      const { type_name_index: type = 0, const_name_index: name = 0 } = value.enum_const_value ?? {}
      context.addReferencesOf(pool.utf8(type))
      return set(context.intern(pool.utf8(name)), context.intern(pool.utf8(type)))
    }
    case 'c': {
      const type = pool.utf8(value.class_info_index ?? 0)
      context.addReferencesOf(type)
      return set(context.intern(type))
    }
    case '@': {
      const target = { targetKind: TARGET.ANNOTATION, target: row, isVisible }
      return set(addAnnotation(context, value.annotation as Annotation, target, depth + 1))
    }
    case '[': {
      const values = value.array_value?.values ?? []
      const first = reserve(context, values.length)
      set(first, values.length)
      for (const [i, each] of values.entries()) addValue(context, each, first + i, row, isVisible, depth + 1)
      return undefined
    }
    default:
      // B, C, I, S, Z: java-class-tools rejects all others.
      return set(pool.word(constant, TAG.INTEGER))
  }
}
