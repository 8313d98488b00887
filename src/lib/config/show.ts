import { type SchemaNode, valueSchema } from './check.ts'
import { yaml } from './yaml.ts'

/** Formats the effective settings as YAML with secrets (schema fields marked `writeOnly`) masked. */
export function showSettings(schema: SchemaNode, settings: unknown): string {
  return yaml().stringify(maskSecrets(schema, settings))
}

/** Returns a copy of the settings with secrets masked. */
export function maskSecrets(schema: SchemaNode, value: unknown): unknown {
  if (schema.writeOnly === true && value !== undefined) return '********'
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const ofMap = valueSchema(schema) ?? {}
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, maskSecrets(schema.properties?.[key] ?? ofMap, inner)]),
  )
}
