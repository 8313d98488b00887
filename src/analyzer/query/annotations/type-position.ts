import type { Facts } from '../../bytecode/facts.ts'

/**
 * Describes the annotated type in a declaration or in a method's code (JVMS §4.7.20), for example "type
 * argument 0 of the return type"; numbers count from 0.
 */
export function typePosition({ annotations, strings }: Facts, row: number): string {
  const path = annotations.path[row] ?? -1
  const steps = path < 0 ? [] : (strings.get(path).match(/\d+;|./gu) ?? [])
  const whole = wholeType(
    annotations.position[row] ?? 0,
    annotations.parameter[row] ?? -1,
    annotations.parameterCount[row] ?? 0,
  )
  return [...steps.toReversed().map(partOf), whole].join(' of ')
}

function partOf(step: string): string {
  if (step === '[') return 'the array’s elements'
  if (step === '.') return 'the nested type'
  return step === '*' ? 'the wildcard’s bound' : `type argument ${step.slice(0, -1)}`
}

/** Describes the whole type by target_type, JVMS tables 4.7.20-A and -B. */
function wholeType(position: number, index: number, bound: number): string {
  switch (position) {
    case 0x00:
    case 0x01:
      return `type parameter ${index}`
    case 0x10:
      return index < 0 ? 'the superclass' : `interface ${index}`
    case 0x11:
    case 0x12:
      return `bound ${bound} of type parameter ${index}`
    case 0x13:
      return 'the field’s type'
    case 0x14:
      return 'the return type'
    case 0x15:
      return 'the receiver’s type'
    case 0x16:
      return 'the parameter’s type'
    case 0x17:
      return `exception ${index}`
    case 0x40:
      return 'a local variable’s type'
    case 0x41:
      return 'a resource’s type'
    case 0x42:
      return 'a caught type'
    case 0x43:
      return 'an instanceof'
    case 0x44:
      return 'a new'
    case 0x45:
    case 0x46:
      return 'a method reference'
    case 0x47:
      return 'a cast'
    default:
      return `type argument ${index} of a call`
  }
}
