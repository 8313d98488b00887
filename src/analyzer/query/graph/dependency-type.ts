import { USE } from '../../index/digest.ts'

/** Types of dependencies. */
export const DEPENDENCY_TYPES = [
  'EXTENDS',
  'IMPLEMENTS',
  'FIELD_TYPE',
  'METHOD_RETURN_TYPE',
  'METHOD_PARAMETER',
  'TYPE_REFERENCE',
] as const
/** Type of a dependency. */
export type DependencyType = (typeof DEPENDENCY_TYPES)[number]

const OF_KIND: Readonly<Record<number, DependencyType>> = {
  [USE.EXTENDS]: 'EXTENDS',
  [USE.IMPLEMENTS]: 'IMPLEMENTS',
  [USE.FIELD]: 'FIELD_TYPE',
  [USE.RETURN]: 'METHOD_RETURN_TYPE',
  [USE.PARAM]: 'METHOD_PARAMETER',
  [USE.SYNTHETIC_FIELD]: 'FIELD_TYPE',
  [USE.SYNTHETIC_RETURN]: 'METHOD_RETURN_TYPE',
  [USE.SYNTHETIC_PARAM]: 'METHOD_PARAMETER',
}

/** Kinds in which the descriptor of a compiler's method names a type. */
const IN_DESCRIPTORS: ReadonlySet<number> = new Set([USE.SYNTHETIC_PARAM, USE.OTHER])

/**
 * Whether nobody wrote a use: the constructor that javac makes for nested classes, beside a private one, has a parameter
 * of an anonymous class, which can be one that somebody wrote.
 */
export function isOfDescriptor(name: string, kind: number): boolean {
  return IN_DESCRIPTORS.has(kind) && /\$\d+$/.test(name)
}

/**
 * Returns the type of a dependency for a kind of use. Uses outside signatures are TYPE_REFERENCE:
 * annotations, calls, instantiations, casts …
 */
export function dependencyType(kind: number): DependencyType {
  return OF_KIND[kind] ?? 'TYPE_REFERENCE'
}
