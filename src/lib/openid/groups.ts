/** More groups are dropped, except for those that rules name. */
const MAX_GROUPS = 1_000
const MAX_LENGTH = 256

/**
 * Parses a provider's claim: a list of names, or one name. Ignores everything else.
 *
 * @param isWanted whether a rule names a group; such groups are kept first
 */
export function parseGroups(claim: unknown, isWanted: (group: string) => boolean): string[] {
  const groups = [...new Set((Array.isArray(claim) ? claim : [claim]).filter(isGroup))]
  if (groups.length <= MAX_GROUPS) return groups
  const wanted = groups.filter(isWanted)
  return [...wanted, ...groups.filter((group) => !isWanted(group))].slice(0, MAX_GROUPS)
}

/** Splits a proxy's header with the names of groups. */
export function splitGroups(header: string, separator: string): readonly string[] {
  return header
    .split(separator)
    .map((group) => group.trim())
    .filter(isGroup)
}

function isGroup(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_LENGTH
}
