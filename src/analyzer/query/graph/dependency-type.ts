import { USE } from '../../index/digest.ts'

export const DEPENDENCY_TYPES = [
  'EXTENDS',
  'IMPLEMENTS',
  'FIELD_TYPE',
  'METHOD_RETURN_TYPE',
  'METHOD_PARAMETER',
  'TYPE_REFERENCE',
] as const
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

/** Whatever is in no signature is a TYPE_REFERENCE: annotations, calls, instantiations, casts … */
export function dependencyType(kind: number): DependencyType {
  return OF_KIND[kind] ?? 'TYPE_REFERENCE'
}
