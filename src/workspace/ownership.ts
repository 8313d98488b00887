import type { AccessLevel } from './access-level.ts'

/** Prefix of a group among those that a workspace is shared with. */
export const GROUP_PREFIX = 'group:'

/** To whom a workspace belongs, and with whom it is shared. */
export interface Ownership {
  /** ID of the user; undefined if it belongs to the administrators. */
  readonly owner?: string | undefined
  /** Levels by the ID of a user, or by `group:NAME`. */
  readonly shares: Readonly<Record<string, AccessLevel>>
}
