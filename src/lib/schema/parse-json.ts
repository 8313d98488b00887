import type { Static, TSchema } from 'typebox'
import { violations } from './violations.ts'

/** Returns whether a value is what a schema says; keys that it does not name are allowed unless it forbids them. */
export function fits<S extends TSchema>(schema: S, value: unknown): value is Static<S> {
  return complaint(schema, value) === undefined
}

/** Returns the first thing that a schema does not allow in a value, such as "files.kernel.bytes must be integer". */
export function complaint(schema: TSchema, value: unknown): string | undefined {
  const [violation] = violations(schema, value)
  if (violation === undefined) return undefined
  const { path, keyword, message } = violation
  if (keyword === 'additionalProperties') return `${[...path, message].join('.')} is unknown`
  return path.length === 0 ? `it ${message}` : `${path.join('.')} ${message}`
}

/** Returns what a text of JSON says; undefined where it is not JSON or not what the schema says. */
export function parseJson<S extends TSchema>(schema: S, text: string): Static<S> | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  return fits(schema, value) ? value : undefined
}
