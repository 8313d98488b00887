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

interface Depending {
  readonly spec: ProcessSpec
}

/** Sorts processes such that each comes after those it depends on. */
export function dependenciesFirst<P extends Depending>(processes: readonly P[]): readonly P[] {
  const replicas = Map.groupBy(processes, ({ spec }) => spec.base)
  // During a reload, old and new settings together can have a cycle.
  const seen = new Set<P>()
  const sorted: P[] = []
  const add = (process: P): void => {
    if (seen.has(process)) return
    seen.add(process)
    for (const base of Object.keys(process.spec.dependsOn)) replicas.get(base)?.forEach(add)
    sorted.push(process)
  }
  processes.forEach(add)
  return sorted
}

/** Does work for each process once it is done for all that depend on it. */
export async function dependentsFirst<P extends Depending>(
  processes: readonly P[],
  work: (process: P) => Promise<void>,
): Promise<void> {
  const dependents = Map.groupBy(
    processes.flatMap((process) => Object.keys(process.spec.dependsOn).map((base) => ({ base, process }))),
    ({ base }) => base,
  )
  const done = new Map<P, Promise<void>>()
  for (const process of dependenciesFirst(processes).toReversed()) {
    const first = (dependents.get(process.spec.base) ?? []).flatMap((each) => done.get(each.process) ?? [])
    done.set(process, first.length === 0 ? work(process) : Promise.all(first).then(() => work(process)))
  }
  await Promise.all(done.values())
}

/** Whether one process directly depends on the other. */
export function dependsOn(one: ProcessSpec, other: ProcessSpec): boolean {
  return Object.hasOwn(one.dependsOn, other.base)
}
