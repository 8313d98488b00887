import { ClassFormatError } from './class-format-error.ts'

/** A parsed field or method descriptor (JVMS §4.3). */
export interface Descriptor {
  readonly isMethod: boolean
  /** Slots of each parameter: 1 or 2. */
  readonly parameters: readonly number[]
  /** Slots of the return value, or of the field's value: 0, 1 or 2. */
  readonly resultSlots: number
  /** Names of its classes, including the elements of arrays. */
  readonly classes: readonly string[]
}

const fieldType = /(\[{0,255})(?:([BCFISZ])|([DJ])|L([^;]+);)|V/y

const parsed = new Map<string, Descriptor | undefined>()

/** Returns undefined for a malformed descriptor. */
export function parseDescriptor(text: string): Descriptor | undefined {
  if (parsed.has(text)) return parsed.get(text)
  // Untrusted jars may contain any number of them.
  if (parsed.size > 50_000) parsed.clear()
  const descriptor = parse(text)
  parsed.set(text, descriptor)
  return descriptor
}

/** @throws ClassFormatError when it is malformed or of the other kind */
export function requireDescriptor(text: string, isMethod: boolean): Descriptor {
  const descriptor = parseDescriptor(text)
  if (descriptor?.isMethod !== isMethod)
    throw new ClassFormatError(0, `a ${isMethod ? 'method' : 'field'} has a malformed descriptor`)
  return descriptor
}

export function slotsOf(parameters: readonly number[]): number {
  return parameters.reduce((sum, slots) => sum + slots, 0)
}

function parse(text: string): Descriptor | undefined {
  const classes: string[] = []
  let at = 0
  const type = (): number | undefined => {
    fieldType.lastIndex = at
    const match = fieldType.exec(text)
    if (match === null) return undefined
    at = fieldType.lastIndex
    const [all, dimensions = '', , wide, name] = match
    if (all === 'V') return 0
    if (name !== undefined) classes.push(name)
    return wide !== undefined && dimensions === '' ? 2 : 1
  }
  const isMethod = text.startsWith('(')
  const parameters: number[] = []
  if (isMethod) {
    at = 1
    while (at < text.length && text[at] !== ')') {
      const slots = type()
      if (slots === undefined || slots === 0) return undefined
      parameters.push(slots)
    }
    if (at >= text.length || slotsOf(parameters) > 255) return undefined
    at++
  }
  const resultSlots = type()
  if (resultSlots === undefined || at !== text.length || (resultSlots === 0 && !isMethod)) return undefined
  return { isMethod, parameters, resultSlots, classes }
}
