import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv, type ValidateFunction } from 'ajv'
import { parse } from 'yaml'
import { packageRoot } from '../../../src/lib/process/package.ts'

interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly definitions: Readonly<Record<string, object>>
}
interface Operation {
  readonly parameters?: readonly { readonly in: string; readonly schema?: object }[]
}

// Firecracker's own; see README.md beside it.
const file = join(packageRoot, 'test/fixtures/firecracker/firecracker.yaml')
const description = parse(readFileSync(file, 'utf8')) as Description
const ajv = new Ajv({ strict: false, allErrors: true })
const validators = new Map<string, ValidateFunction>()

/**
 * Returns violations of Firecracker's published API description in a request as sentences, including unknown
 * fields.
 */
export function apiFaults(method: string, path: string, body: unknown): string[] {
  const known = Object.keys(description.paths).find((each) =>
    new RegExp(`^${each.replaceAll(/\{\w+\}/g, '\\w+')}$`).test(path),
  )
  const operation = known === undefined ? undefined : description.paths[known]?.[method.toLowerCase()]
  if (operation === undefined) return [`${method} ${path} is not a known request`]
  const schema = operation.parameters?.find((parameter) => parameter.in === 'body')?.schema
  if (schema === undefined) return [`${method} ${path} takes no body`]
  const key = `${method} ${known}`
  const validate = validators.get(key) ?? ajv.compile(closed(schema))
  validators.set(key, validate)
  if (validate(body)) return []
  return (validate.errors ?? []).map((error) => `${path}${error.instancePath} ${error.message}`)
}

/** The schema with its definitions, with additional properties forbidden. */
function closed(schema: object): object {
  const definitions = Object.fromEntries(
    Object.entries(description.definitions).map(([name, definition]) => [
      name,
      'properties' in definition ? { ...definition, additionalProperties: false } : definition,
    ]),
  )
  return { ...schema, definitions }
}
