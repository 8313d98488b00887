import { Ajv, type ErrorObject } from 'ajv'
import { defineFaults } from '../errors/fault.ts'
import { parseDuration } from './duration.ts'
import { nearest } from './nearest.ts'
import { parseSize } from './size.ts'

export const configFault = defineFaults({ CONFIG_INVALID: 'invalid', CONFIG_UNREADABLE: 'invalid' })

/** A JSON Schema node, as far as configuration uses it. */
export interface SchemaNode {
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly default?: unknown
  readonly description?: string
  readonly enum?: readonly unknown[]
  readonly writeOnly?: boolean
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly additionalProperties?: boolean | SchemaNode
  readonly items?: SchemaNode
}

/**
 * Fills in defaults and checks raw settings against their schema; durations become milliseconds, sizes bytes.
 * Throws CONFIG_INVALID with one line per mistake, each naming the key and, for an unknown one, the nearest known.
 */
export function checkSettings(schema: SchemaNode, raw: unknown, source: string): unknown {
  const ajv = new Ajv({ allErrors: true, useDefaults: true, strict: false, allowUnionTypes: true })
  ajv.addFormat('duration', (value: string) => parseDuration(value) !== undefined)
  ajv.addFormat('size', (value: string) => parseSize(value) !== undefined)
  const settings: unknown = structuredClone(raw ?? {})
  const validate = ajv.compile(schema)
  if (!validate(settings)) {
    const lines = (validate.errors ?? []).map((error) => `${source}: ${sentence(error, schema)}`)
    throw configFault('CONFIG_INVALID', [...new Set(lines)].join('\n'))
  }
  return decode(schema, settings)
}

function sentence(error: ErrorObject, schema: SchemaNode): string {
  const path = error.instancePath.split('/').slice(1)
  const key = path.join('.')
  if (error.keyword === 'additionalProperties') {
    const unknownKey = String((error.params as { additionalProperty: unknown }).additionalProperty)
    const known = Object.keys(nodeAt(schema, path)?.properties ?? {})
    const meant = nearest(unknownKey, known)
    const hint =
      meant === undefined
        ? `known keys: ${known.join(', ')}`
        : `did you mean "${[...path, meant].join('.')}"?`
    return `unknown key "${[...path, unknownKey].join('.')}"; ${hint}`
  }
  if (error.keyword === 'enum') {
    return `"${key}" must be one of ${(nodeAt(schema, path)?.enum ?? []).map(String).join(', ')}`
  }
  if (error.keyword === 'format') {
    const example = nodeAt(schema, path)?.format === 'size' ? 'a size such as 5MiB' : 'a duration such as 72h'
    return `"${key}" must be ${example}`
  }
  return `"${key}" ${error.message ?? 'is not valid'}`
}

function nodeAt(schema: SchemaNode, path: readonly string[]): SchemaNode | undefined {
  let node: SchemaNode | undefined = schema
  for (const step of path) {
    const named: SchemaNode | undefined = node?.properties?.[step]
    const other: SchemaNode | undefined =
      typeof node?.additionalProperties === 'object' ? node.additionalProperties : undefined
    node = named ?? node?.items ?? other
  }
  return node
}

function decode(schema: SchemaNode, value: unknown): unknown {
  if (schema.format === 'duration' && typeof value === 'string') return parseDuration(value)
  if (schema.format === 'size') return typeof value === 'string' ? parseSize(value) : value
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const rest = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : {}
  return Object.freeze(
    Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [key, decode(schema.properties?.[key] ?? rest, inner)]),
    ),
  )
}
