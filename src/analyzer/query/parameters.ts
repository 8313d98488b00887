import { TARGET } from '../bytecode/columns.ts'
import type { Facts } from '../bytecode/facts.ts'
import { ACC } from '../bytecode/access-flags.ts'
import { splitMethod } from '../index/type-names.ts'
import { typesOfMethod } from './names.ts'

export interface Parameter {
  /** From MethodParameters or the debug information; else "arg0", "arg1" … */
  readonly name: string
  readonly type: string
  /** Rows in the facts' annotations. */
  readonly annotations: readonly number[]
}

/**
 * A method's parameters as its descriptor has them, each with its annotations. An attribute with annotations may count fewer
 * parameters than the descriptor (JVMS §4.7.18): the compiler's own are then left out, which stand in front (the outer
 * instance, an enum's name and ordinal) or behind (the captured variables of a local class).
 */
export function parameterAnnotations(facts: Facts, classRow: number, method: number): readonly Parameter[] {
  const { methods, parameters, annotations, classes, strings } = facts
  const { parameters: types } = typesOfMethod(strings.get(methods.descriptor[method] ?? 0))
  const firstParameter = methods.firstParameter[method] ?? 0
  const named = (methods.firstParameter[method + 1] ?? 0) - firstParameter
  const byPlace = new Map<number, number[]>()
  for (
    let row = classes.firstAnnotation[classRow] ?? 0;
    row < (classes.firstAnnotation[classRow + 1] ?? 0);
    row++
  ) {
    const kind = annotations.targetKind[row]
    if (kind !== TARGET.PARAMETER && kind !== TARGET.PARAMETER_TYPE) continue
    if (annotations.target[row] !== method) continue
    const place = (annotations.parameter[row] ?? 0) + offsetOf(facts, classRow, method, types.length, row)
    byPlace.set(place, [...(byPlace.get(place) ?? []), row])
  }
  return types.map((type, place) => {
    const name = named === types.length ? (parameters.name[firstParameter + place] ?? -1) : -1
    return { name: name < 0 ? `arg${place}` : strings.get(name), type, annotations: byPlace.get(place) ?? [] }
  })
}

/** How many of the descriptor's first parameters an attribute leaves out. */
function offsetOf(facts: Facts, classRow: number, method: number, count: number, row: number): number {
  const isOnType = facts.annotations.targetKind[row] === TARGET.PARAMETER_TYPE
  const counted = isOnType ? sourceCount(facts, method) : facts.annotations.parameterCount[row]
  const missing = count - (counted ?? count)
  if (missing <= 0) return 0
  const { methods, parameters } = facts
  const first = methods.firstParameter[method] ?? 0
  const made = ACC.SYNTHETIC | MANDATED
  if ((methods.firstParameter[method + 1] ?? 0) - first === count) {
    let leading = 0
    while (leading < missing && ((parameters.accessFlags[first + leading] ?? 0) & made) !== 0) leading++
    if (leading > 0) return leading
  }
  // Without MethodParameters: a local class's captured variables come last, all others first.
  const isLocal = (facts.classes.enclosingClass[classRow] ?? -1) >= 0
  return isLocal ? Math.min(missing, 1) : missing
}

/** How many parameters the source has, as far as the signature says so; the attribute for types has no count. */
function sourceCount({ methods, strings }: Facts, method: number): number | undefined {
  const signature = methods.signature[method] ?? -1
  return signature < 0 ? undefined : splitMethod(strings.get(signature)).parameters.length
}

const MANDATED = 0x8000
