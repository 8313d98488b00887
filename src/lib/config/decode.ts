import type { Static, TArray, TObject, TProperties, TRecord, TSchema } from 'typebox'
import { type SchemaNode, valueSchema } from './check.ts'
import type { TDuration, TSize } from './fields.ts'
import { parseDuration } from './duration.ts'
import { parseSize } from './size.ts'

/**
 * The decoded type of a schema's settings: `max_files` becomes `maxFiles`, the duration `timeout` becomes `timeoutMs`, and the size
 * `memory` becomes `memoryBytes`. Missing settings are undefined. Names chosen by users are unchanged.
 */
export type Decoded<S extends TSchema> = S extends TDuration | TSize
  ? number
  : S extends TObject<infer Properties>
    ? DecodedProperties<Properties>
    : S extends TArray<infer Item>
      ? readonly Decoded<Item>[]
      : S extends TRecord<string, infer Value>
        ? Readonly<Record<string, Decoded<Value>>>
        : Static<S>

type DecodedProperties<P extends TProperties> = {
  readonly [K in keyof P as DecodedName<K & string, P[K]>]:
    Decoded<P[K]> | (P[K] extends { '~optional': true } ? undefined : never)
}

type DecodedName<K extends string, S> = S extends TDuration
  ? WithUnit<CamelCase<K>, 'Ms'>
  : S extends TSize
    ? WithUnit<CamelCase<K>, 'Bytes'>
    : CamelCase<K>

type WithUnit<K extends string, Unit extends string> = K extends `${string}${Unit}` ? K : `${K}${Unit}`

type CamelCase<K extends string> = K extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : K

/** Decodes names, durations and sizes of settings validated by `checkSettings`. */
export function decodeSettings<S extends TSchema>(schema: S, checked: Static<S>): Decoded<S> {
  // `Decoded` mirrors `decode`.
  return decode(schema, checked) as Decoded<S>
}

const UNITS: Readonly<Record<string, string>> = { duration: 'Ms', size: 'Bytes' }

function decode(schema: SchemaNode, value: unknown): unknown {
  if (schema.format === 'duration' && typeof value === 'string') return parseDuration(value)
  if (schema.format === 'size' && typeof value === 'string') return parseSize(value)
  if (Array.isArray(value)) return Object.freeze(value.map((item) => decode(schema.items ?? {}, item)))
  if (typeof value !== 'object' || value === null) return value
  const { properties } = schema
  const decoded =
    properties === undefined
      ? Object.entries(value).map(([name, inner]) => [name, decode(valueSchema(schema) ?? {}, inner)])
      : Object.entries(properties).map(([name, node]) => [
          decodedName(name, node),
          decode(node, (value as Readonly<Record<string, unknown>>)[name]),
        ])
  return Object.freeze(Object.fromEntries(decoded))
}

function decodedName(name: string, { format = '' }: SchemaNode): string {
  const camelCase = name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase())
  const unit = UNITS[format] ?? ''
  return camelCase.endsWith(unit) ? camelCase : `${camelCase}${unit}`
}
