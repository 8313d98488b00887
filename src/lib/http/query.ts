/** JSON Schema of a query: an object of parameters. */
interface QuerySchema {
  readonly properties?: Readonly<Record<string, ParameterSchema>>
  readonly additionalProperties?: boolean
  readonly required?: readonly string[] | undefined
}

/** JSON Schema of a parameter; its description is the rule that `pattern` expresses. Without a type it is left as it is. */
interface ParameterSchema {
  readonly type?: string
  readonly description?: string
  readonly enum?: readonly string[]
  readonly pattern?: string
  readonly minLength?: number
  readonly minimum?: number
  readonly maximum?: number
  /** Whether a larger integer counts as the maximum: a limit of a list is "at most" so many. */
  readonly 'x-clamped'?: boolean
  readonly items?: ParameterSchema
}

type Decoded = { readonly value: unknown } | { readonly wrong: string }

/** Query parameters by name: repeated ones are lists. */
export type RawQuery = Readonly<Record<string, string | readonly string[]>>

const MAX_SHOWN = 80

/**
 * Decodes a query by its schema: integers, booleans (`true` or `false`; a lenient reading of `TRUE` could delete data), words of an
 * enumeration in any case, texts, and lists, whose parameter is repeated. Returns the values, or a sentence that names the first parameter
 * that is unknown, repeated, invalid or missing.
 */
export function decodeQuery(schema: QuerySchema, query: RawQuery): Decoded {
  const { properties = {}, additionalProperties = true, required = [] } = schema
  const values: [string, unknown][] = []
  for (const [name, raw] of Object.entries(query)) {
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (known === undefined && !additionalProperties) {
      const names = Object.keys(properties).join(', ')
      return { wrong: `"${name.slice(0, MAX_SHOWN)}" is unknown; known parameters: ${names}` }
    }
    const decoded = decodeParameter(known ?? {}, raw)
    if ('wrong' in decoded) return { wrong: `"${name}" ${decoded.wrong}` }
    values.push([name, decoded.value])
  }
  const missing = required.find((name) => !Object.hasOwn(query, name))
  return missing === undefined
    ? { value: Object.fromEntries(values) }
    : { wrong: `"${missing}" is missing; it is required` }
}

function decodeParameter(schema: ParameterSchema, raw: string | readonly string[]): Decoded {
  if (schema.type === undefined && schema.enum === undefined) return { value: raw }
  if (schema.type === 'array') {
    const values: unknown[] = []
    for (const text of [raw].flat()) {
      const item = decodeText(schema.items ?? {}, text)
      if ('wrong' in item) return item
      values.push(item.value)
    }
    return { value: values }
  }
  return typeof raw === 'string' ? decodeText(schema, raw) : { wrong: 'must not be given more than once' }
}

function decodeText(schema: ParameterSchema, text: string): Decoded {
  const { type, pattern, minLength = 0 } = schema
  const wrong = (rule: string): Decoded => ({
    wrong: `${rule}, not ${JSON.stringify(text.slice(0, MAX_SHOWN))}`,
  })
  if (type === 'integer') {
    const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = schema
    const isClamped = schema['x-clamped'] === true
    const number = (isClamped ? /^\d+$/ : /^\d{1,16}$/).test(text) ? Number(text) : Number.NaN
    const value = isClamped ? Math.min(number, maximum) : number
    if (value >= minimum && value <= maximum) return { value }
    const bounds = schema.maximum === undefined ? `of at least ${minimum}` : `from ${minimum} to ${maximum}`
    return wrong(`must be a whole number ${bounds}`)
  }
  if (type === 'boolean') {
    return /^(?:true|false)$/.test(text) ? { value: text === 'true' } : wrong('must be true or false')
  }
  if (schema.enum !== undefined) {
    const word = schema.enum.find((each) => each.toLowerCase() === text.toLowerCase())
    return word === undefined ? wrong(`must be one of ${schema.enum.join(', ')}`) : { value: word }
  }
  if (text.length < minLength) return { wrong: 'must not be empty' }
  if (pattern !== undefined && !new RegExp(pattern, 'u').test(text))
    return wrong(`must be ${schema.description}`)
  return { value: text }
}
