import { isRecord } from '../../../../../lib/envelope/envelope.ts'
import { formatDuration } from '../parts/format.ts'
import { scheduleWords } from '../parts/schedule-words.ts'

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
  /** The only values, if there are few. */
  readonly choices: readonly string[] | undefined
}

interface FieldSchema {
  readonly type?: string
  readonly enum?: readonly string[]
  readonly description?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly anyOf?: readonly FieldSchema[]
  readonly items?: FieldSchema
  readonly additionalProperties?: FieldSchema | boolean
  readonly properties?: Readonly<Record<string, FieldSchema>>
  readonly required?: readonly string[]
}

interface Operation {
  readonly requestBody: {
    readonly content: { readonly 'application/json': { readonly schema: FieldSchema } }
  }
}

/** The parts of an OpenAPI document that forms use. */
export interface ApiDescription {
  readonly paths: Readonly<Record<string, { readonly post?: Operation; readonly patch?: Operation }>>
}

/** Returns the fields of the request that creates a workspace, in the server's order. */
export function creationFields({ paths }: ApiDescription): readonly FormField[] {
  return fieldsOfRequest(paths['/api/workspaces']?.post)
}

/** Returns the fields of the request that changes a workspace; of an expiry, only the time. */
export function settingsFields({ paths }: ApiDescription): readonly FormField[] {
  return fieldsOfRequest(paths['/api/workspaces/{name}']?.patch)
    .filter(({ name }) => name !== 'ttl_s')
    .map((field) => (field.is === 'flag' ? { ...field, choices: ['true', 'false'] } : field))
}

function fieldsOfRequest(operation: Operation | undefined): readonly FormField[] {
  const schema = operation?.requestBody.content['application/json'].schema
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
      choices: facts.enum,
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
    if (text !== '') setAt(body, name, valueOf(is, text))
  }
  return body
}

/** Returns a merge patch (RFC 7396) of the fields that differ; an empty one returns to the default. */
export function patchOf(
  fields: readonly FormField[],
  before: Readonly<Record<string, string>>,
  entered: Readonly<Record<string, string>>,
): Record<string, unknown> {
  const patch: Record<string, unknown> = {}
  for (const { name, is } of fields) {
    const [last = '', next = ''] = [before[name], entered[name]?.trim()]
    if (next === last) continue
    const value = is === 'pairs' ? changedPairs(pairsOf(last), pairsOf(next)) : valueOf(is, next)
    setAt(patch, name, next === '' ? null : value)
  }
  return patch
}

/** Returns only what differs: a value that contains a comma cannot be entered, and stays as it is. */
function changedPairs(
  before: Readonly<Record<string, string>>,
  next: Readonly<Record<string, string>>,
): Readonly<Record<string, string | null>> {
  const keys = Object.keys({ ...before, ...next }).filter((key) => before[key] !== next[key])
  return Object.fromEntries(keys.map((key) => [key, next[key] ?? null]))
}

function setAt(body: Record<string, unknown>, name: string, value: unknown): void {
  const path = name.split('.')
  let parent = body
  for (const key of path.slice(0, -1)) parent = (parent[key] ??= {}) as Record<string, unknown>
  parent[path.at(-1) ?? name] = value
}

function valueOf(is: FormField['is'], text: string): unknown {
  if (is === 'flag') return text === 'true'
  if (is === 'number') return Number(text)
  if (is === 'numbers') return text.split(',').map(Number)
  return is === 'pairs' ? pairsOf(text) : text
}

function pairsOf(text: string): Readonly<Record<string, string>> {
  return text === '' ? {} : Object.fromEntries(text.split(',').map(toPair))
}

function toPair(text: string): readonly [string, string] {
  const [key = '', ...value] = text.split('=')
  return [key.trim(), value.join('=').trim()]
}

/** Returns the value of a template or workspace for a field, as forms show it; undefined if it has none. */
export function shownValue(source: object, { name, is }: FormField): string | undefined {
  const value = name
    .split('.')
    .reduce<unknown>((outer, key) => (isRecord(outer) ? outer[key] : undefined), source)
  if (typeof value === 'string') return name.startsWith('schedule.') ? scheduleWords(value) : value
  // Durations are numbers in responses, and texts in requests.
  if (typeof value === 'number' && is === 'text') return formatDuration(value)
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
