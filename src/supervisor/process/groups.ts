import type { ProcessSpec } from '../process-spec.ts'

/** Returns the names of all groups. */
export function groupsOf(specs: readonly ProcessSpec[]): readonly string[] {
  return [...new Set(specs.flatMap(({ groups }) => groups))].toSorted()
}

/** Explains that a group does not exist. */
export function missingGroup(name: string, known: readonly string[]): string {
  return known.length === 0
    ? `group "${name}" does not exist: no process has "groups"`
    : `group "${name}" does not exist; the groups are ${known.join(', ')}`
}
