import type { FastifyInstance } from 'fastify'

/** Returns a function that lists the methods supported for a path; empty for an unknown path (RFC 9110, section 15.5.6). */
export function followMethods(app: FastifyInstance): (path: string) => readonly string[] {
  const methods = new Map<string, Set<string>>()
  app.addHook('onRoute', ({ url, method }) => {
    const known = methods.get(url) ?? new Set()
    methods.set(url, known)
    for (const each of [method].flat()) known.add(each.toUpperCase())
  })
  let patterns: readonly (readonly [RegExp, ReadonlySet<string>])[] | undefined
  return (path) => {
    patterns ??= [...methods].map(([url, allowed]) => [patternOf(url), allowed])
    const allowed = patterns.flatMap(([pattern, each]) => (pattern.test(path) ? [...each] : []))
    return [...new Set(allowed)].toSorted()
  }
}

/** Converts a route's path to a pattern: `:name` matches one segment, `*` the rest. */
function patternOf(url: string): RegExp {
  const parts = url.split('/').map((part) => {
    if (part.startsWith(':')) return '[^/]+'
    return part === '*' ? '.*' : part.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`)
  })
  return new RegExp(`^${parts.join('/')}$`)
}
