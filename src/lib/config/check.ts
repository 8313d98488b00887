import type { Static, TSchema } from 'typebox'
import { defineFaults } from '../errors/fault.ts'
import { type Violation, violations, withDefaults } from '../schema/violations.ts'
import { parseDuration } from './duration.ts'
import { nearest } from './nearest.ts'
import { parseSize } from './size.ts'

/** Creates errors of configurations. */
export const configFault = defineFaults({ CONFIG_INVALID: 'invalid', CONFIG_UNREADABLE: 'invalid' })

/** The part of a JSON Schema node that configuration uses. */
export interface SchemaNode {
  /** TypeBox's marker, which makes its types assignable to this one. */
  readonly '~unsafe'?: unknown
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly default?: unknown
  readonly description?: string
  readonly enum?: readonly unknown[]
  readonly writeOnly?: boolean
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly patternProperties?: Readonly<Record<string, SchemaNode>>
  readonly additionalProperties?: boolean
  readonly items?: SchemaNode
  readonly anyOf?: readonly SchemaNode[]
}

/** Returns the value schema of a map; undefined for other schemas. */
export function valueSchema({ patternProperties = {} }: SchemaNode): SchemaNode | undefined {
  return Object.values(patternProperties)[0]
}

const FORMATS = {
  duration: (text: string) => parseDuration(text) !== undefined,
  size: (text: string) => parseSize(text) !== undefined,
}

/**
 * Adds defaults to raw settings and validates them.
 *
 * @param source what messages begin with: the file, or the place of a key in it
 * @throws CONFIG_INVALID with one line per mistake that names the key and, for an unknown key, the nearest known one
 */
export function checkSettings<S extends TSchema>(
  schema: S,
  raw: unknown,
  source: string | ((path: readonly string[]) => string),
): Static<S> {
  const settings = withDefaults(schema, raw ?? {})
  const wrong = [...violations(schema, settings, FORMATS)]
  if (wrong.length > 0) {
    const placeOf = typeof source === 'string' ? () => source : source
    const lines = wrong.map((violation) => `${placeOf(keyPath(violation))}: ${sentence(violation, schema)}`)
    throw configFault('CONFIG_INVALID', lines.join('\n'))
  }
  // Validated above.
  return settings as Static<S>
}

/** Returns the path of the key that a violation is about. */
function keyPath({ path, keyword, message }: Violation): readonly string[] {
  return keyword === 'additionalProperties' ? [...path, message] : path
}

function sentence({ path, keyword, message }: Violation, schema: SchemaNode): string {
  const key = path.join('.')
  if (keyword === 'additionalProperties') {
    const known = Object.keys(nodeAt(schema, path)?.properties ?? {})
    const meant = nearest(message, known)
    const hint =
      meant === undefined
        ? `known keys: ${known.join(', ')}`
        : `did you mean "${[...path, meant].join('.')}"?`
    return `unknown key "${keyPath({ path, keyword, message }).join('.')}"; ${hint}`
  }
  const { format, description } = nodeAt(schema, path) ?? {}
  if (keyword === 'anyOf' && description !== undefined) return `"${key}" must be ${description}`
  if (format !== undefined && (keyword === 'format' || keyword === 'type'))
    return `"${key}" must be ${format === 'size' ? 'a size such as 5MiB' : 'a duration such as 72h'}`
  if (keyword === 'enum') {
    return `"${key}" must be one of ${(nodeAt(schema, path)?.enum ?? []).map(String).join(', ')}`
  }
  return `"${key}" ${message}`
}

function nodeAt(schema: SchemaNode, path: readonly string[]): SchemaNode | undefined {
  let node: SchemaNode | undefined = schema
  for (const step of path) {
    const named: SchemaNode | undefined = node?.properties?.[step]
    node = named ?? node?.items ?? (node && valueSchema(node))
  }
  return node
}
