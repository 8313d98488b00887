/**
 * Converts an internal name to source notation: "java/util/Map$Entry" to "java.util.Map$Entry". An array's
 * descriptor becomes "int[]" or "java.lang.String[]".
 */
export function toFqn(internalName: string): string {
  return internalName.startsWith('[') ? typeOfDescriptor(internalName) : internalName.replaceAll('/', '.')
}

/** Converts a name to an internal name. */
export function toInternal(fqn: string): string {
  return fqn.replaceAll('.', '/')
}

/** Returns the package of a class, "" for the unnamed package. */
export function packageOf(fqn: string): string {
  const dot = fqn.lastIndexOf('.')
  return dot === -1 ? '' : fqn.slice(0, dot)
}

/**
 * Returns the simple name as in source: "Entry" of "java.util.Map$Entry". An anonymous class keeps its whole
 * name, "Map$1".
 */
export function simpleNameOf(fqn: string): string {
  const name = fqn.slice(fqn.lastIndexOf('.') + 1)
  const inner = name.slice(name.lastIndexOf('$') + 1).replace(/^\d+/, '')
  return name.includes('$') && inner !== '' ? inner : name
}

/** Returns the top-level class of a class in source notation, by its name. */
export function topLevelOf(fqn: string): string {
  // The first letter of a name can be "$".
  const dollar = fqn.indexOf('$', fqn.lastIndexOf('.') + 2)
  return dollar < 0 ? fqn : fqn.slice(0, dollar)
}

const PRIMITIVES: Readonly<Record<string, string>> = {
  B: 'byte',
  C: 'char',
  D: 'double',
  F: 'float',
  I: 'int',
  J: 'long',
  S: 'short',
  Z: 'boolean',
  V: 'void',
}

/** Converts a type's descriptor to source notation: "[Ljava/lang/String;" to "java.lang.String[]". */
export function typeOfDescriptor(descriptor: string): string {
  const dimensions = /^\[*/.exec(descriptor)?.[0].length ?? 0
  const element = descriptor.slice(dimensions)
  const name = element.startsWith('L')
    ? element.slice(1).replace(/;$/, '').replaceAll('/', '.')
    : PRIMITIVES[element]
  return (name ?? element) + '[]'.repeat(dimensions)
}

/** Converts the types in a method's descriptor to source notation. */
export function typesOfMethod(descriptor: string): {
  readonly parameters: readonly string[]
  readonly returns: string
} {
  const parameters: string[] = []
  const type = /\[*(?:L[^;]*;|[BCDFIJSZV])/y
  const close = descriptor.lastIndexOf(')')
  type.lastIndex = 1
  while (type.lastIndex < close) {
    const at = type.lastIndex
    const found = type.exec(descriptor)?.[0]
    if (found === undefined) break
    parameters.push(typeOfDescriptor(descriptor.slice(at, at + found.length)))
  }
  return { parameters, returns: typeOfDescriptor(descriptor.slice(close + 1)) }
}

/** Converts a line of the facts to a line number or null. */
export function lineOf(line: number | undefined): number | null {
  return line === undefined || line < 0 ? null : line
}
