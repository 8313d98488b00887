/** Collects sentences about the contents of a devcontainer.json that the server treats differently. */
export class Findings {
  /** Entries that are not valid, and are ignored or converted. */
  readonly invalid: string[] = []
  /** Valid settings that are not honored. */
  readonly notes: string[] = []
}

/** Names the type of a JSON value in a sentence. Values are not shown: they can be secrets. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

/** Returns the path of an entry for a sentence. */
export function pathOf(key: string, name: string): string {
  return `${key}.${name.slice(0, 80)}`
}

/**
 * Converts a value as JavaScript does, which is how the official CLI makes texts of numbers, booleans, null and
 * lists. Returns undefined for an object, on which that CLI fails.
 */
export function textOf(value: unknown): string | undefined {
  if (!Array.isArray(value)) return isObject(value) ? undefined : String(value)
  const items = value.map((each: unknown) => (each === null ? '' : textOf(each)))
  return items.includes(undefined) ? undefined : items.join(',')
}

/** Whether a JSON value is an object. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** @throws Error with a sentence when there are more than the server accepts */
export function refuseMore(key: string, what: string, count: number, most: number): void {
  if (count > most) throw new Error(`${key} has ${count} ${what}, more than ${most}`)
}
