/** Levels of access to a workspace; each level includes those before it. */
export const ACCESS_LEVELS = ['read', 'use', 'manage'] as const
/**
 * `read`: see it. `use`: run programs in it, and read and change its files. `manage`: stop, change, copy, share and
 * delete it.
 */
export type AccessLevel = (typeof ACCESS_LEVELS)[number]

/** Returns whether a level includes another. */
export function includes(level: AccessLevel, wanted: AccessLevel): boolean {
  return ACCESS_LEVELS.indexOf(level) >= ACCESS_LEVELS.indexOf(wanted)
}

/** Returns the lower of two levels. */
export function lower(one: AccessLevel, other: AccessLevel): AccessLevel {
  return includes(one, other) ? other : one
}
