import { createHash } from 'node:crypto'
import type { Static, TSchema } from 'typebox'
import { parseJson } from '../schema/parse-json.ts'

/** Encodes a record as a line of JSON and its digest, without which a damaged value could be a valid one. */
export function sealJson(record: unknown): string {
  const line = JSON.stringify(record)
  return `${line}\n${createHash('sha256').update(line).digest('hex')}\n`
}

/** Parses a sealed record; undefined if it is damaged or does not match the schema. */
export function openSealedJson<S extends TSchema>(schema: S, content: string): Static<S> | undefined {
  const record = parseJson(schema, content.split('\n', 1)[0] ?? '')
  return record !== undefined && content === sealJson(record) ? record : undefined
}
