import { type SchemaNode, valueSchema } from './check.ts'
import { yaml } from './yaml.ts'

/** The effective settings as YAML, with every secret (a schema field marked `writeOnly`) masked. */
export function showSettings(schema: SchemaNode, settings: unknown): string {
  return yaml().stringify(maskSecrets(schema, settings))
}

/** The effective settings as a value, masked alike. */
export function maskSecrets(schema: SchemaNode, value: unknown): unknown {
  if (schema.writeOnly === true && value !== undefined) return '********'
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const ofMap = valueSchema(schema) ?? {}
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, maskSecrets(schema.properties?.[key] ?? ofMap, inner)]),
  )
}
