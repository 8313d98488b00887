import { fault } from './errors.ts'

const NAME = /^[A-Za-z0-9][A-Za-z0-9-]{0,62}$/

/** A workspace's name, checked wherever one comes in: API, SSH user, bus, prune, tunnel (threat W1). */
export function parseWorkspaceName(value: unknown): string {
  if (typeof value === 'string' && isWorkspaceName(value)) return value
  const shown = typeof value === 'string' ? JSON.stringify(value.slice(0, 80)) : String(value)
  throw fault(
    'INVALID_WORKSPACE_NAME',
    `workspace name ${shown} must be 1 to 63 letters, digits and hyphens, and begin with a letter or digit`,
  )
}

export function isWorkspaceName(text: string): boolean {
  return NAME.test(text)
}

/** The form under which a name is unique: upper and lower case are one. */
export function nameKey(name: string): string {
  return name.toLowerCase()
}
