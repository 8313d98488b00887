import { TARGET } from '../../../src/analyzer/bytecode/columns.ts'
import type { ClassContext } from './class-context.ts'
import { requireDescriptor } from './descriptor.ts'
import { ClassFileFault } from './fault.ts'
import type { Annotation, Attribute, ElementValue } from './java-class-tools.ts'
import { TAG } from './pool.ts'

interface Target {
  readonly targetKind: number
  readonly target: number
  readonly isVisible: number
  readonly parameter?: number
  readonly parameterCount?: number
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
  const isVisible = Number(name === 'RuntimeVisibleAnnotations')
  if (isVisible === 0 && name !== 'RuntimeInvisibleAnnotations') return false
  for (const annotation of attribute.annotations)
    addAnnotation(context, annotation, { targetKind, target, isVisible }, 0)
  return true
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
  return context.facts.add('annotations', { parameter: -1, type: -1, ...target })
}

/** Rows that follow each other, for what belongs together; what they hold in turn comes behind them. */
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
  if (type === undefined) throw new ClassFileFault(0, "an annotation's type is no class")
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
  if (depth > MAX_DEPTH) throw new ClassFileFault(0, `element values are nested deeper than ${MAX_DEPTH}`)
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
      // B, C, I, S, Z: java-class-tools has refused all others.
      return set(pool.word(constant, TAG.INTEGER))
  }
}
