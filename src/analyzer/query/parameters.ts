import { TARGET } from '../bytecode/columns.ts'
import type { Facts } from '../bytecode/facts.ts'
import { ACC } from '../bytecode/access-flags.ts'
import { splitMethod } from '../index/type-names.ts'
import { typesOfMethod } from './names.ts'

/** A parameter of a method. */
export interface Parameter {
  /** Name from MethodParameters or the debug information; else "arg0", "arg1" … */
  readonly name: string
  readonly type: string
  /** Rows in the facts' annotations. */
  readonly annotations: readonly number[]
}

/**
 * Returns a method's parameters as in its descriptor, with their annotations. An attribute with annotations
 * may count fewer parameters than the descriptor (JVMS §4.7.18): it omits compiler-generated ones, which come
 * first (the outer instance, an enum's name and ordinal) or last (the captured variables of a local class).
 */
export function parameterAnnotations(facts: Facts, classRow: number, method: number): readonly Parameter[] {
  const { methods, parameters, annotations, classes, strings } = facts
  const { parameters: types } = typesOfMethod(strings.get(methods.descriptor[method] ?? 0))
  const firstParameter = methods.firstParameter[method] ?? 0
  const named = (methods.firstParameter[method + 1] ?? 0) - firstParameter
  const byPosition = new Map<number, number[]>()
  for (
    let row = classes.firstAnnotation[classRow] ?? 0;
    row < (classes.firstAnnotation[classRow + 1] ?? 0);
    row++
  ) {
    const kind = annotations.targetKind[row]
    if (kind !== TARGET.PARAMETER && kind !== TARGET.PARAMETER_TYPE) continue
    if (annotations.target[row] !== method) continue
    const position = (annotations.parameter[row] ?? 0) + offsetOf(facts, classRow, method, types.length, row)
    byPosition.set(position, [...(byPosition.get(position) ?? []), row])
  }
  return types.map((type, position) => {
    const name = named === types.length ? (parameters.name[firstParameter + position] ?? -1) : -1
    return {
      name: name < 0 ? `arg${position}` : strings.get(name),
      type,
      annotations: byPosition.get(position) ?? [],
    }
  })
}

/** Returns how many of the descriptor's first parameters an attribute omits. */
function offsetOf(facts: Facts, classRow: number, method: number, count: number, row: number): number {
  const isOnType = facts.annotations.targetKind[row] === TARGET.PARAMETER_TYPE
  const counted = isOnType ? sourceCount(facts, method) : facts.annotations.parameterCount[row]
  const missing = count - (counted ?? count)
  if (missing <= 0) return 0
  const { methods, parameters } = facts
  const first = methods.firstParameter[method] ?? 0
  const generated = ACC.SYNTHETIC | MANDATED
  if ((methods.firstParameter[method + 1] ?? 0) - first === count) {
    let leading = 0
    while (leading < missing && ((parameters.accessFlags[first + leading] ?? 0) & generated) !== 0) leading++
    if (leading > 0) return leading
  }
  // Without MethodParameters: a local class's captured variables come last, all other generated ones first.
  const isLocal = (facts.classes.enclosingClass[classRow] ?? -1) >= 0
  return isLocal ? Math.min(missing, 1) : missing
}

/**
 * Returns the number of parameters in the source according to the signature; the attribute for types has no
 * count.
 */
function sourceCount({ methods, strings }: Facts, method: number): number | undefined {
  const signature = methods.signature[method] ?? -1
  return signature < 0 ? undefined : splitMethod(strings.get(signature)).parameters.length
}

const MANDATED = 0x8000
