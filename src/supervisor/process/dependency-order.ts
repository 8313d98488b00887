import type { ProcessSpec } from '../process-spec.ts'

/**
 * Returns the first dependency cycle as names: a, b, a; undefined if there is none. Names are those in
 * the configuration.
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

/** Whether one process directly depends on the other. */
export function dependsOn(one: ProcessSpec, other: ProcessSpec): boolean {
  return Object.hasOwn(one.dependsOn, other.base)
}
