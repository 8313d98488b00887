import { counted } from '../../lib/cli/counted.ts'

/** Describes calls that a list of callers omits. */
export function omittedCalls(answer: {
  readonly subtypeCallCount: number
  readonly supertypeCallCount: number
  readonly appliedFilter: { readonly includeSubtypes: boolean }
}): readonly string[] {
  const { subtypeCallCount: below, supertypeCallCount: above, appliedFilter } = answer
  return [
    ...(below > 0 && !appliedFilter.includeSubtypes
      ? [`${counted(below, 'more call')} through subtypes; list them with --include-subtypes`]
      : []),
    ...(above > 0
      ? [`${counted(above, 'call')} to a supertype's method of this name may be dispatched here`]
      : []),
  ]
}
