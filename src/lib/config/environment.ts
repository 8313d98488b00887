import type { SchemaNode } from './check.ts'

/** A setting and its environment variable: `http.port` of `workspace` is `WORKSPACE_HTTP__PORT`. */
interface EnvironmentKey {
  readonly variable: string
  readonly path: readonly string[]
  readonly node: SchemaNode
}

/** Lists every setting of a schema with the variable that overrides it. Maps with names chosen by users have none. */
export function environmentKeys(prefix: string, schema: SchemaNode): readonly EnvironmentKey[] {
  const keys: EnvironmentKey[] = []
  const visit = (node: SchemaNode, path: readonly string[]): void => {
    for (const [key, child] of Object.entries(node.properties ?? {})) {
      const childPath = [...path, key]
      if (child.properties) visit(child, childPath)
      else if (child.type !== 'object')
        keys.push({
          variable: `${prefix}_${childPath.join('__').toUpperCase()}`,
          path: childPath,
          node: child,
        })
    }
  }
  visit(schema, [])
  return keys
}

/** Reads settings from the environment into an object with the file's shape; lists are comma-separated. */
export function settingsFromEnvironment(
  prefix: string,
  schema: SchemaNode,
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, unknown> {
  const settings: Record<string, unknown> = {}
  for (const { variable, path, node } of environmentKeys(prefix, schema)) {
    const value = environment[variable]
    if (value !== undefined) setAt(settings, path, fromText(node, value))
  }
  return settings
}

function fromText(node: SchemaNode, value: string): unknown {
  if (node.type === 'array')
    return value === '' ? [] : value.split(',').map((item) => fromText(node.items ?? {}, item.trim()))
  if (node.type === 'boolean' && (value === 'true' || value === 'false')) return value === 'true'
  // Other values stay strings, so that validation reports the key and the expected type.
  if ((node.type === 'integer' || node.type === 'number') && /^-?\d+(\.\d+)?$/.test(value))
    return Number(value)
  return value
}

/** Sets a value at a path, creating missing groups. */
function setAt(target: Record<string, unknown>, path: readonly string[], value: unknown): void {
  let group = target
  for (const step of path.slice(0, -1)) group = (group[step] ??= {}) as Record<string, unknown>
  const last = path.at(-1)
  if (last !== undefined) group[last] = value
}
