import { fault } from './errors.ts'

/** Pattern of workspace names, in schemas and here. */
export const NAME_PATTERN = '^[A-Za-z0-9][A-Za-z0-9-]{0,62}$'
/** The rule that `NAME_PATTERN` expresses. */
export const NAME_RULE = '1 to 63 letters, digits or hyphens, and start with a letter or digit'
const NAME = new RegExp(NAME_PATTERN)

/**
 * Validates a workspace name at every entry point: API, SSH user, bus, prune, tunnel (threat W1).
 *
 * @throws INVALID_WORKSPACE_NAME when it is not valid
 */
export function parseWorkspaceName(value: unknown): string {
  if (typeof value === 'string' && isWorkspaceName(value)) return value
  const shown = typeof value === 'string' ? JSON.stringify(value.slice(0, 80)) : String(value)
  throw fault('INVALID_WORKSPACE_NAME', `workspace name ${shown} must be ${NAME_RULE}`)
}

/** Returns whether a text is a valid workspace name. */
export function isWorkspaceName(text: string): boolean {
  return NAME.test(text)
}

/** Returns the form in which a name is unique: names are case-insensitive. */
export function nameKey(name: string): string {
  return name.toLowerCase()
}
