import { TARGET } from '../../bytecode/columns.ts'
import type { Facts } from '../../bytecode/facts.ts'
import { toFqn, typeOfDescriptor } from '../names.ts'

/** An annotation with its written attributes. */
export interface AnnotationView {
  /** Dotted name of the annotation type. */
  readonly type: string
  readonly parameters: Readonly<Record<string, ValueView>>
}

/** An attribute's value. Scalars are text; kinds are Java's types in capitals. */
export type ValueView =
  | { readonly kind: ScalarKind; readonly value: string }
  | { readonly kind: 'CLASS'; readonly value: string }
  | { readonly kind: 'ENUM'; readonly value: string; readonly enumType: string }
  | { readonly kind: 'ANNOTATION'; readonly annotation: AnnotationView }
  | { readonly kind: 'ARRAY'; readonly items: readonly ValueView[] }

const SCALARS = {
  B: 'BYTE',
  C: 'CHAR',
  D: 'DOUBLE',
  F: 'FLOAT',
  I: 'INT',
  J: 'LONG',
  S: 'SHORT',
  Z: 'BOOLEAN',
  s: 'STRING',
} as const
type ScalarKind = (typeof SCALARS)[keyof typeof SCALARS]

/** Returns the annotation at a row. */
export function annotationView(facts: Facts, row: number): AnnotationView {
  const { annotations, elements, strings } = facts
  const start = annotations.elementStart[row] ?? 0
  const parameters: Record<string, ValueView> = Object.create(null)
  for (let each = start; each < start + (annotations.elementCount[row] ?? 0); each++) {
    parameters[strings.get(elements.name[each] ?? 0)] = valueView(facts, each)
  }
  return { type: toFqn(strings.get(annotations.type[row] ?? 0)), parameters }
}

/** Returns the value at a row of the elements. */
export function valueView(facts: Facts, row: number): ValueView {
  const { elements, strings } = facts
  const tag = String.fromCharCode(elements.tag[row] ?? 0)
  const value = elements.value[row] ?? 0
  const high = elements.high[row] ?? 0
  switch (tag) {
    case 'c':
      return { kind: 'CLASS', value: typeOfDescriptor(strings.get(value)) }
    case 'e':
      return { kind: 'ENUM', value: strings.get(value), enumType: typeOfDescriptor(strings.get(high)) }
    case '@':
      return { kind: 'ANNOTATION', annotation: annotationView(facts, value) }
    case '[':
      return { kind: 'ARRAY', items: Array.from({ length: high }, (_, i) => valueView(facts, value + i)) }
    default:
      return { kind: SCALARS[tag as keyof typeof SCALARS], value: scalarText(facts, tag, value, high) }
  }
}

function scalarText(facts: Facts, tag: string, value: number, high: number): string {
  switch (tag) {
    case 's':
      return facts.strings.get(value)
    case 'Z':
      return String(value !== 0)
    case 'C':
      return String.fromCharCode(value)
    case 'J':
      return String(longOf(value, high))
    case 'D':
      return String(doubleOf(value, high))
    case 'F':
      return String(floatOf(value))
    default:
      return String(value)
  }
}

const words = new DataView(new ArrayBuffer(8))

/** Combines two words to a long. */
export function longOf(low: number, high: number): bigint {
  words.setInt32(0, high)
  words.setInt32(4, low)
  return words.getBigInt64(0)
}

/** Combines two words to a double. */
export function doubleOf(low: number, high: number): number {
  words.setInt32(0, high)
  words.setInt32(4, low)
  return words.getFloat64(0)
}

/** Returns the shortest decimal that represents a float, not the nearest double. */
export function floatOf(bits: number): number {
  words.setInt32(0, bits)
  const exact = words.getFloat32(0)
  for (let digits = 1; digits <= 9; digits++) {
    const short = Number(exact.toPrecision(digits))
    if (Math.fround(short) === exact) return short
  }
  return exact
}

/** Returns the rows of the annotations on a class or member, in order. */
export function annotationsOn(
  facts: Facts,
  classRow: number,
  kind: (typeof TARGET)[keyof typeof TARGET],
  target: number,
): readonly number[] {
  const { classes, annotations } = facts
  const rows: number[] = []
  for (
    let row = classes.firstAnnotation[classRow] ?? 0;
    row < (classes.firstAnnotation[classRow + 1] ?? 0);
    row++
  ) {
    if (annotations.targetKind[row] === kind && annotations.target[row] === target) rows.push(row)
  }
  return rows
}

/**
 * Returns the annotations on a member, including those on a field's whole type or a method's whole return
 * type: in source both are written in the same position.
 */
export function annotationsOnMember(
  facts: Facts,
  classRow: number,
  kind: typeof TARGET.FIELD | typeof TARGET.METHOD,
  target: number,
): readonly number[] {
  const typeKind = kind === TARGET.FIELD ? TARGET.FIELD_TYPE : TARGET.METHOD_TYPE
  const onType = annotationsOn(facts, classRow, typeKind, target).filter(
    (row) => !isOnPart(facts, row) && WHOLE_TYPES.has(facts.annotations.position[row] ?? 0),
  )
  return [...annotationsOn(facts, classRow, kind, target), ...onType].toSorted((a, b) => a - b)
}

/** target_type of a field's type and a return type (JVMS table 4.7.20-A). */
const WHOLE_TYPES: ReadonlySet<number> = new Set([0x13, 0x14])

/** Whether an annotation is on a part of a type: a type argument, an array's elements … */
export function isOnPart({ annotations }: Facts, row: number): boolean {
  return (annotations.path[row] ?? -1) >= 0
}
