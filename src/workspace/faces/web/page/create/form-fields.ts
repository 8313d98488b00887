import { isRecord } from '../../../../../lib/envelope/envelope.ts'
import type { WireTemplate } from '../../../../api/template.ts'

/** A field of the form, derived from the OpenAPI document. */
export interface FormField {
  /** A dotted path for a field of a nested object. */
  readonly name: string
  /** The input type; `numbers` and `pairs` (of `KEY=VALUE`) are comma-separated lists. */
  readonly is: 'text' | 'number' | 'numbers' | 'pairs' | 'flag'
  readonly isRequired: boolean
  readonly description: string
  readonly minimum: number | undefined
  readonly maximum: number | undefined
}

interface FieldSchema {
  readonly type?: string
  readonly description?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly anyOf?: readonly FieldSchema[]
  readonly items?: FieldSchema
  readonly additionalProperties?: FieldSchema | boolean
  readonly properties?: Readonly<Record<string, FieldSchema>>
  readonly required?: readonly string[]
}

/** The parts of an OpenAPI document that the form uses. */
export interface ApiDescription {
  readonly paths: Readonly<
    Record<
      string,
      {
        readonly post?: {
          readonly requestBody: {
            readonly content: {
              readonly 'application/json': {
                readonly schema: FieldSchema
              }
            }
          }
        }
      }
    >
  >
}

/** Returns the fields of the request that creates a workspace, in the server's order. */
export function formFields(description: ApiDescription): readonly FormField[] {
  const schema = description.paths['/api/workspaces']?.post?.requestBody.content['application/json'].schema
  return schema === undefined ? [] : fieldsOf(schema, '')
}

function fieldsOf({ properties = {}, required = [] }: FieldSchema, path: string): readonly FormField[] {
  return Object.entries(properties).flatMap(([key, field]) => {
    // Most fields may also be null; the form omits them instead.
    const facts = field.anyOf?.find(({ type }) => type !== 'null') ?? field
    const name = `${path}${key}`
    if (facts.properties !== undefined) return fieldsOf(facts, `${name}.`)
    return {
      name,
      is: kindOf(facts),
      isRequired: required.includes(key),
      description: facts.description ?? field.description ?? '',
      minimum: facts.minimum,
      maximum: facts.maximum,
    }
  })
}

function kindOf({ type, items, additionalProperties }: FieldSchema): FormField['is'] {
  if (type === 'array' && items?.type === 'integer') return 'numbers'
  if (type === 'object' && typeof additionalProperties === 'object') return 'pairs'
  return type === 'boolean' ? 'flag' : type === 'integer' ? 'number' : 'text'
}

/** Returns the request body, without empty fields. */
export function bodyOf(
  fields: readonly FormField[],
  entered: Readonly<Record<string, string>>,
): Record<string, unknown> {
  const body: Record<string, unknown> = {}
  for (const { name, is } of fields) {
    const text = entered[name]?.trim() ?? ''
    if (text === '') continue
    const path = name.split('.')
    let parent = body
    for (const key of path.slice(0, -1)) parent = (parent[key] ??= {}) as Record<string, unknown>
    parent[path.at(-1) ?? name] = valueOf(is, text)
  }
  return body
}

function valueOf(is: FormField['is'], text: string): unknown {
  if (is === 'flag') return text === 'true'
  if (is === 'number') return Number(text)
  if (is === 'numbers') return text.split(',').map(Number)
  return is === 'pairs' ? Object.fromEntries(text.split(',').map(toPair)) : text
}

function toPair(text: string): readonly [string, string] {
  const [key = '', ...value] = text.split('=')
  return [key.trim(), value.join('=').trim()]
}

/** Returns a template's value for a field as the form shows it; undefined if it has none. */
export function valueOfTemplate(template: WireTemplate, field: string): string | undefined {
  if (field === 'name') return undefined
  const value = field
    .split('.')
    .reduce<unknown>((outer, key) => (isRecord(outer) ? outer[key] : undefined), template)
  if (typeof value === 'string') return value
  if (Array.isArray(value)) return value.join(', ')
  if (isRecord(value))
    return Object.entries(value)
      .map(([label, text]) => `${label}=${String(text)}`)
      .join(', ')
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined
}

const FIELD_OF_CODE: Readonly<Record<string, string>> = {
  INVALID_WORKSPACE_NAME: 'name',
  WORKSPACE_ALREADY_EXISTS: 'name',
  INVALID_REPO_URL: 'repo',
  CLONE_FAILED: 'repo',
  INVALID_LOCAL_DIR: 'local_dir',
  IMAGE_NOT_FOUND: 'image',
  SNAPSHOT_NOT_FOUND: 'from_snapshot',
  TEMPLATE_NOT_FOUND: 'template',
}

/** Returns the field an error refers to, or undefined if it refers to none or several. */
export function fieldOf(code: string, message: string, fields: readonly FormField[]): string | undefined {
  const named = FIELD_OF_CODE[code]
  if (named !== undefined) return named
  const mentioned = fields.filter(({ name }) => new RegExp(`\\b${name}\\b`).test(message))
  return mentioned.length === 1 ? mentioned[0]?.name : undefined
}
