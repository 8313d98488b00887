import type { SelectedTests } from '../../query/impact/select-tests.ts'

/** Build tools for which tests can be selected. */
export const TEST_TOOLS = ['maven', 'gradle'] as const

/** Names that a shell and both tools leave as they are. */
const PLAIN = /^[\p{L}_$][\p{L}\p{N}_$]*$/u

/** Returns arguments that make a build tool run only the selected tests, or none. */
export function testArguments(
  tool: (typeof TEST_TOOLS)[number],
  selection: readonly SelectedTests[],
): string {
  if (tool === 'gradle') {
    const filters = selection.flatMap(({ classFqn, methods }) =>
      canName(methods) ? methods.map((method) => `${classFqn}.${method}`) : [classFqn],
    )
    return filters.length === 0 ? '-x test' : filters.map((filter) => `--tests ${filter}`).join(' ')
  }
  if (selection.length === 0) return '-DskipTests'
  const tests = selection.map(({ classFqn, methods }) =>
    canName(methods) ? `${classFqn}#${methods.join('+')}` : classFqn,
  )
  // A module without selected tests is not an error.
  return `-Dtest=${tests.join(',')} -Dsurefire.failIfNoSpecifiedTests=false`
}

/** Whether the selection is of single methods, all with names that can be arguments. */
function canName(methods: SelectedTests['methods']): methods is readonly string[] {
  return methods !== null && methods.every((method) => PLAIN.test(method))
}
