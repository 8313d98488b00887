/** One field of the form, as the API's description has it. */
export interface FormField {
  /** A path with dots for a field of an object. */
  readonly name: string
  /** `numbers` have commas between them. */
  readonly is: 'text' | 'number' | 'numbers' | 'flag'
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
  readonly properties?: Readonly<Record<string, FieldSchema>>
  readonly required?: readonly string[]
}

/** As much of an OpenAPI description as the form is made of. */
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

/** The fields of what creates a workspace: whatever the server takes, in its order. */
export function formFields(description: ApiDescription): readonly FormField[] {
  const schema = description.paths['/api/workspaces']?.post?.requestBody.content['application/json'].schema
  return schema === undefined ? [] : fieldsOf(schema, '')
}

function fieldsOf({ properties = {}, required = [] }: FieldSchema, path: string): readonly FormField[] {
  return Object.entries(properties).flatMap(([key, field]) => {
    // Most may also be null, which the form says by leaving them out.
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

function kindOf({ type, items }: FieldSchema): FormField['is'] {
  if (type === 'array' && items?.type === 'integer') return 'numbers'
  return type === 'boolean' ? 'flag' : type === 'integer' ? 'number' : 'text'
}

/** The body to send: what was left empty is left out. */
export function bodyOf(
  fields: readonly FormField[],
  entered: Readonly<Record<string, string>>,
): Record<string, unknown> {
  const body: Record<string, unknown> = {}
  for (const { name, is } of fields) {
    const text = entered[name]?.trim() ?? ''
    if (text === '') continue
    const path = name.split('.')
    let place = body
    for (const key of path.slice(0, -1)) place = (place[key] ??= {}) as Record<string, unknown>
    place[path.at(-1) ?? name] = valueOf(is, text)
  }
  return body
}

function valueOf(is: FormField['is'], text: string): unknown {
  if (is === 'flag') return text === 'true'
  if (is === 'number') return Number(text)
  return is === 'numbers' ? text.split(',').map(Number) : text
}

const FIELD_OF_CODE: Readonly<Record<string, string>> = {
  INVALID_WORKSPACE_NAME: 'name',
  WORKSPACE_ALREADY_EXISTS: 'name',
  INVALID_REPO_URL: 'repo',
  CLONE_FAILED: 'repo',
  INVALID_LOCAL_DIR: 'local_dir',
  IMAGE_NOT_FOUND: 'image',
  SNAPSHOT_NOT_FOUND: 'from_snapshot',
}

/** The field that an error is about; undefined where it is about none, or more than one. */
export function fieldOf(code: string, message: string, fields: readonly FormField[]): string | undefined {
  const named = FIELD_OF_CODE[code]
  if (named !== undefined) return named
  const mentioned = fields.filter(({ name }) => new RegExp(`\\b${name}\\b`).test(message))
  return mentioned.length === 1 ? mentioned[0]?.name : undefined
}
