import { counted } from '../../lib/cli/counted.ts'

/** Sentences about calls of a method that a list of its callers leaves out. */
export function omittedCalls(answer: {
  readonly subtypeCallCount: number
  readonly supertypeCallCount: number
  readonly appliedFilter: { readonly includeSubtypes: boolean }
}): readonly string[] {
  const { subtypeCallCount: below, supertypeCallCount: above, appliedFilter } = answer
  return [
    ...(below > 0 && !appliedFilter.includeSubtypes
      ? [`${counted(below, 'more call')} through subtypes; --include-subtypes lists them`]
      : []),
    ...(above > 0 ? [`${counted(above, 'call')} of a supertype's method of this name may arrive here`] : []),
  ]
}
