/** A JSON Schema with the keywords used in this project. */
interface Schema {
  readonly type?: string | readonly string[]
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: boolean | Schema
  readonly items?: Schema
  readonly format?: string
  readonly anyOf?: readonly Schema[]
}

/** A violation of a schema. */
export interface Violation {
  /** Property names and indexes from the root. */
  readonly path: readonly string[]
  readonly keyword: string
  /** The expectation; for an unknown property, its name. */
  readonly message: string
}

/** Tests of string formats by name. */
type Formats = Readonly<Record<string, (text: string) => boolean>>

/**
 * Returns all violations of a schema; throws for an unsupported keyword or format. Ajv
 * does the same, but loading it and compiling a configuration's schema took 90 ms (Ajv 8), also for commands that only query a server.
 */
export function* violations(
  schema: Schema,
  value: unknown,
  formats: Formats = {},
  path: readonly string[] = [],
): Generator<Violation> {
  const types = [schema.type ?? []].flat()
  if (types.length > 0 && !types.some((type) => isOfType(type, value))) {
    yield { path, keyword: 'type', message: `must be ${types.join(' or ')}` }
    return
  }
  for (const [keyword, expected] of Object.entries(schema)) {
    if (STRUCTURE.test(keyword)) continue
    const check = CHECKS[keyword]
    if (check === undefined) throw new Error(`schema keyword "${keyword}" is not supported`)
    const message = check(expected as never, value)
    if (message !== undefined) yield { path, keyword, message }
  }
  if (schema.format !== undefined && typeof value === 'string') {
    const isRight = formats[schema.format]
    if (isRight === undefined) throw new Error(`schema format "${schema.format}" is not supported`)
    if (!isRight(value)) yield { path, keyword: 'format', message: `must match format "${schema.format}"` }
  }
  if (schema.anyOf?.every((each) => hasViolations(each, value, formats)) === true)
    yield { path, keyword: 'anyOf', message: 'must match a schema in anyOf' }
  if (Array.isArray(value)) {
    const { items = {} } = schema
    for (const [i, item] of value.entries()) yield* violations(items, item, formats, [...path, String(i)])
  } else if (isOfType('object', value)) {
    yield* violationsInside(schema, value as Readonly<Record<string, unknown>>, formats, path)
  }
}

function hasViolations(schema: object, value: unknown, formats: Formats = {}): boolean {
  return violations(schema, value, formats).next().done !== true
}

/** Returns the value with defaults for missing properties, recursively. */
export function withDefaults(schema: Schema & { readonly default?: unknown }, value: unknown): unknown {
  if (value === undefined) {
    return schema.default === undefined ? undefined : withDefaults(schema, structuredClone(schema.default))
  }
  if (Array.isArray(value)) return value.map((item) => withDefaults(schema.items ?? {}, item))
  if (!isOfType('object', value)) return value
  const names = new Set([...Object.keys(schema.properties ?? {}), ...Object.keys(value as object)])
  const filled = [...names].map((name) => {
    const inner = withDefaults(schemaOf(schema, name) ?? {}, (value as Record<string, unknown>)[name])
    return [name, inner] as const
  })
  return Object.fromEntries(filled.filter(([, inner]) => inner !== undefined))
}

function* violationsInside(
  schema: Schema,
  value: Readonly<Record<string, unknown>>,
  formats: Formats,
  path: readonly string[],
): Generator<Violation> {
  for (const name of schema.required ?? []) {
    if (!Object.hasOwn(value, name))
      yield { path, keyword: 'required', message: `must have required property '${name}'` }
  }
  for (const [name, inner] of Object.entries(value)) {
    const schemaInside = schemaOf(schema, name)
    if (schemaInside === undefined) yield { path, keyword: 'additionalProperties', message: name }
    else yield* violations(schemaInside, inner, formats, [...path, name])
  }
}

/** Returns a property's schema; undefined if the property is not allowed. */
function schemaOf(schema: Schema, name: string): Schema | undefined {
  const { properties = {}, patternProperties = {}, additionalProperties = true } = schema
  if (Object.hasOwn(properties, name)) return properties[name]
  const [, matching] =
    Object.entries(patternProperties).find(([pattern]) => new RegExp(pattern, 'u').test(name)) ?? []
  if (matching !== undefined) return matching
  if (typeof additionalProperties === 'object') return additionalProperties
  return additionalProperties ? {} : undefined
}

function isOfType(type: string, value: unknown): boolean {
  if (type === 'null') return value === null
  if (type === 'array') return Array.isArray(value)
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value)
  if (type === 'integer') return Number.isInteger(value)
  return type === 'number' ? Number.isFinite(value) : typeof value === type
}

/** Keywords handled by `violations` itself, and annotations. */
const STRUCTURE =
  /^(?:type|required|properties|patternProperties|additionalProperties|items|anyOf|format|default|description|writeOnly|\$id)$/

const number =
  (isRight: (value: number, limit: number) => boolean, sign: string) => (limit: number, value: unknown) =>
    typeof value !== 'number' || isRight(value, limit) ? undefined : `must be ${sign} ${limit}`
const fewer = (limit: number, what: string) => `must NOT have fewer than ${limit} ${what}`
const more = (limit: number, what: string) => `must NOT have more than ${limit} ${what}`
const lengthOf = (value: unknown): number | undefined =>
  typeof value === 'string' ? Array.from(value).length : undefined

/** Checks by keyword; each returns the expectation if the value violates it. */
const CHECKS: Readonly<Record<string, (expected: never, value: unknown) => string | undefined>> = {
  enum: (allowed: readonly unknown[], value) =>
    allowed.includes(value) ? undefined : 'must be equal to one of the allowed values',
  const: (only: unknown, value) => (value === only ? undefined : 'must be equal to constant'),
  minimum: number((value, limit) => value >= limit, '>='),
  maximum: number((value, limit) => value <= limit, '<='),
  exclusiveMinimum: number((value, limit) => value > limit, '>'),
  minLength: (limit: number, value) =>
    (lengthOf(value) ?? limit) >= limit ? undefined : fewer(limit, 'characters'),
  maxLength: (limit: number, value) =>
    (lengthOf(value) ?? limit) <= limit ? undefined : more(limit, 'characters'),
  minItems: (limit: number, value) =>
    !Array.isArray(value) || value.length >= limit ? undefined : fewer(limit, 'items'),
  maxItems: (limit: number, value) =>
    !Array.isArray(value) || value.length <= limit ? undefined : more(limit, 'items'),
  maxProperties: (limit: number, value) =>
    !isOfType('object', value) || Object.keys(value as object).length <= limit
      ? undefined
      : more(limit, 'properties'),
  pattern: (pattern: string, value) =>
    typeof value !== 'string' || new RegExp(pattern, 'u').test(value)
      ? undefined
      : `must match pattern "${pattern}"`,
}
