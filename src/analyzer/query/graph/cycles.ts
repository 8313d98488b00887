import { CYCLE_MEMBERS } from '../../choices.ts'
import { packageOf } from '../names.ts'
import { classGraph } from './graph.ts'
import { findComponents } from './components.ts'
import { compare } from '../sort-in-turns.ts'
import type { Snapshot } from '../snapshot.ts'

/** A dependency cycle: classes or packages that are strongly connected. */
interface Cycle {
  readonly members: readonly string[]
  readonly size: number
}

/** Returns the cycles between the project's classes or packages, the largest first, then by name. */
export function dependencyCycles(snapshot: Snapshot, of: (typeof CYCLE_MEMBERS)[number]) {
  const { names, next } = of === 'class' ? classDependencies(snapshot) : packageDependencies(snapshot)
  const cycles: Cycle[] = allOf(findComponents(names.length, next))
    .filter((component) => component.length > 1)
    .map((component) => component.map((node) => names[node] ?? '').toSorted(compare))
    .map((members) => ({ members, size: members.length }))
    .toSorted((a, b) => b.size - a.size || compare(a.members[0] ?? '', b.members[0] ?? ''))
  return { of, cycles, count: cycles.length }
}

interface DependencyGraph {
  readonly names: readonly string[]
  readonly next: (node: number) => ArrayLike<number>
}

function classDependencies(snapshot: Snapshot): DependencyGraph {
  const { ids, firstEdge, target } = classGraph(snapshot)
  return {
    names: Array.from(ids, (id) => snapshot.fqnOf(id)),
    next: (node) => target.subarray(firstEdge[node], firstEdge[node + 1]),
  }
}

function packageDependencies(snapshot: Snapshot): DependencyGraph {
  const { ids, firstEdge, target } = classGraph(snapshot)
  const packages = Array.from(ids, (id) => packageOf(snapshot.fqnOf(id)))
  const names = [...new Set(packages)]
  const indexOf = new Map(names.map((name, at) => [name, at]))
  const dependencies = names.map(() => new Set<number>())
  for (const [node, name] of packages.entries()) {
    const from = indexOf.get(name) ?? 0
    for (const each of target.subarray(firstEdge[node], firstEdge[node + 1])) {
      const to = indexOf.get(packages[each] ?? '') ?? 0
      if (to !== from) dependencies[from]?.add(to)
    }
  }
  return { names, next: (node) => [...(dependencies[node] ?? [])] }
}

function allOf<T>(search: Generator<void, T>): T {
  for (;;) {
    const { done, value } = search.next()
    if (done === true) return value
  }
}
