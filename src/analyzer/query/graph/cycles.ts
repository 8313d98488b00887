import { CYCLE_MEMBERS } from '../../choices.ts'
import { packageOf } from '../names.ts'
import { classGraph } from './graph.ts'
import { compare } from '../types/implementations.ts'
import type { Snapshot } from '../snapshot.ts'

/** A dependency cycle: classes or packages that are strongly connected. */
interface Cycle {
  readonly members: readonly string[]
  readonly size: number
}

/** Returns the cycles between the project's classes or packages, the largest first, then by name. */
export function dependencyCycles(snapshot: Snapshot, of: (typeof CYCLE_MEMBERS)[number]) {
  const { names, next } = of === 'class' ? classDependencies(snapshot) : packageDependencies(snapshot)
  const cycles: Cycle[] = components(names.length, next)
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

/**
 * Tarjan's algorithm (SIAM J. Comput. 1(2), 1972) with an explicit stack: chains of classes are longer than
 * JavaScript's stack allows.
 */
function components(
  count: number,
  next: (node: number) => ArrayLike<number>,
): readonly (readonly number[])[] {
  const order = new Int32Array(count).fill(-1)
  const low = new Int32Array(count)
  const isOpen = new Uint8Array(count)
  const open: number[] = []
  const found: number[][] = []
  let counter = 0
  for (let root = 0; root < count; root++) {
    if (order[root] !== -1) continue
    const path = [{ node: root, edges: next(root), at: 0 }]
    order[root] = low[root] = counter++
    open.push(root)
    isOpen[root] = 1
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const { node, edges } = top
      const to = edges[top.at++]
      if (to === undefined) {
        path.pop()
        const parent = path.at(-1)
        if (parent !== undefined) low[parent.node] = Math.min(low[parent.node] ?? 0, low[node] ?? 0)
        if (low[node] === order[node]) found.push(close(node, open, isOpen))
      } else if (order[to] === -1) {
        order[to] = low[to] = counter++
        open.push(to)
        isOpen[to] = 1
        path.push({ node: to, edges: next(to), at: 0 })
      } else if (isOpen[to] === 1) low[node] = Math.min(low[node] ?? 0, order[to] ?? 0)
    }
  }
  return found
}

function close(node: number, open: number[], isOpen: Uint8Array): number[] {
  const component = open.splice(open.lastIndexOf(node))
  for (const each of component) isOpen[each] = 0
  return component
}
