import type { AccessLevel } from './access-level.ts'

/** Prefix of a group among those that a workspace is shared with. */
export const GROUP_PREFIX = 'group:'

/** To whom a workspace belongs, and with whom it is shared. */
export interface Ownership {
  /** Undefined if it belongs to the administrators. The name of a user never changes. */
  readonly owner?: { readonly id: string; readonly name: string } | undefined
  /** Levels by the ID of a user, or by `group:NAME`. */
  readonly shares: Readonly<Record<string, AccessLevel>>
}

/** Returns a user as the owner of workspaces. */
export function ownerOf({ id, name }: NonNullable<Ownership['owner']>): NonNullable<Ownership['owner']> {
  return { id, name }
}
