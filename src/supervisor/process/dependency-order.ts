import type { ProcessSpec } from '../process-spec.ts'

/**
 * The first circle among dependencies, as the names on the way: a, b, a; undefined when there is none. Names are those in
 * the config.
 */
export function findCycle(needs: ReadonlyMap<string, readonly string[]>): readonly string[] | undefined {
  const done = new Set<string>()
  const visit = (name: string, path: readonly string[]): readonly string[] | undefined => {
    const at = path.indexOf(name)
    if (at >= 0) return [...path.slice(at), name]
    if (done.has(name)) return undefined
    for (const next of needs.get(name) ?? []) {
      const cycle = visit(next, [...path, name])
      if (cycle !== undefined) return cycle
    }
    done.add(name)
    return undefined
  }
  for (const name of needs.keys()) {
    const cycle = visit(name, [])
    if (cycle !== undefined) return cycle
  }
  return undefined
}

/** Whether one process depends on the other directly. */
export function dependsOn(one: ProcessSpec, other: ProcessSpec): boolean {
  return Object.hasOwn(one.dependsOn, other.base)
}
