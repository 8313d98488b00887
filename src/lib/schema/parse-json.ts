import type { Static, TSchema } from 'typebox'
import { violations } from './violations.ts'

/** Whether a value matches a schema; unknown keys are allowed unless the schema forbids them. */
export function fits<S extends TSchema>(schema: S, value: unknown): value is Static<S> {
  return complaint(schema, value) === undefined
}

/** Returns the first violation of a schema, such as "files.kernel.bytes must be integer". */
export function complaint(schema: TSchema, value: unknown): string | undefined {
  const [violation] = violations(schema, value)
  if (violation === undefined) return undefined
  const { path, keyword, message } = violation
  if (keyword === 'additionalProperties') return `${[...path, message].join('.')} is unknown`
  return path.length === 0 ? `it ${message}` : `${path.join('.')} ${message}`
}

/** Parses JSON text; undefined if it is not valid JSON or does not match the schema. */
export function parseJson<S extends TSchema>(schema: S, text: string): Static<S> | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  return fits(schema, value) ? value : undefined
}
