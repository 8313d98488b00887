const NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/

/** Whether a value is a namespace that can be part of file and unit names. */
export function isExtensionName(value: unknown): value is string {
  return typeof value === 'string' && NAME.test(value)
}
