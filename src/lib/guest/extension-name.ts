const NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/

/** A namespace that can be part of the names of files and units. */
export function isExtensionName(value: unknown): value is string {
  return typeof value === 'string' && NAME.test(value)
}
