import { DEPENDENCY_TYPES, dependencyType } from './dependency-type.ts'
import { packageOf, simpleNameOf } from '../names.ts'
import type { Snapshot } from '../snapshot.ts'

/** Project classes and what they need of each other, as places in `ids`, in the order of their names. */
export interface ClassGraph {
  readonly ids: Int32Array
  /** The edges of node i are those from firstEdge[i] on: distinct, by target and then type. */
  readonly firstEdge: Int32Array
  readonly target: Int32Array
  /** Place in DEPENDENCY_TYPES. */
  readonly type: Uint8Array
}

const graphs = new WeakMap<Snapshot, ClassGraph>()

/** One edge for each source, target and type; none from a class to itself. Made once for a snapshot. */
export function classGraph(snapshot: Snapshot): ClassGraph {
  let graph = graphs.get(snapshot)
  if (graph === undefined) {
    graph = makeGraph(snapshot)
    graphs.set(snapshot, graph)
  }
  return graph
}

/** An edge as one number, so that they sort as numbers do: source, target, type. */
const TYPES = 8
const NODES = 2 ** 24

function makeGraph(snapshot: Snapshot): ClassGraph {
  const { index } = snapshot
  const ids = index.ofProject()
  const nodeOf = new Int32Array(index.classCount).fill(-1)
  for (const [node, id] of ids.entries()) nodeOf[id] = node
  const edges = new Set<number>()
  for (const { digest, firstClass, source } of index.slices) {
    if (source !== 'PROJECT') continue
    const { types, uses } = digest
    for (let row = 0; row < types.count; row++) {
      const target = nodeOf[index.findByNameId(types.name[row] ?? -1) ?? -1] ?? -1
      if (target < 0) continue
      for (let use = types.firstUse[row] ?? 0; use < (types.firstUse[row + 1] ?? 0); use++) {
        const from = nodeOf[firstClass + (uses.class[use] ?? 0)] ?? -1
        const type = DEPENDENCY_TYPES.indexOf(dependencyType(uses.kind[use] ?? 0))
        if (from >= 0 && from !== target) edges.add((from * NODES + target) * TYPES + type)
      }
    }
  }
  const sorted = Float64Array.from(edges).toSorted()
  const firstEdge = new Int32Array(ids.length + 1)
  for (const edge of sorted) {
    const next = Math.floor(edge / (NODES * TYPES)) + 1
    firstEdge[next] = (firstEdge[next] ?? 0) + 1
  }
  for (let node = 0; node < ids.length; node++)
    firstEdge[node + 1] = (firstEdge[node + 1] ?? 0) + (firstEdge[node] ?? 0)
  return {
    ids,
    firstEdge,
    target: Int32Array.from(sorted, (edge) => Math.floor(edge / TYPES) % NODES),
    type: Uint8Array.from(sorted, (edge) => edge % TYPES),
  }
}

/** For each node, how many distinct others it needs, and how many need it. */
function degreesOf({ ids, firstEdge, target }: ClassGraph): {
  readonly out: Int32Array
  readonly in: Int32Array
} {
  const degrees = { out: new Int32Array(ids.length), in: new Int32Array(ids.length) }
  for (let node = 0; node < ids.length; node++) {
    let last = -1
    for (let edge = firstEdge[node] ?? 0; edge < (firstEdge[node + 1] ?? 0); edge++) {
      const to = target[edge] ?? 0
      if (to === last) continue
      last = to
      degrees.out[node] = (degrees.out[node] ?? 0) + 1
      degrees.in[to] = (degrees.in[to] ?? 0) + 1
    }
  }
  return degrees
}

interface GraphNode {
  readonly fqn: string
  readonly simpleName: string
  readonly packageName: string
  readonly inDegree: number
  readonly outDegree: number
}

interface GraphEdge {
  readonly source: string
  readonly target: string
  readonly type: string
}

/** The graph with names. */
export function graphView(snapshot: Snapshot) {
  const graph = classGraph(snapshot)
  const degrees = degreesOf(graph)
  const names = Array.from(graph.ids, (id) => snapshot.fqnOf(id))
  const nodes: GraphNode[] = names.map((fqn, node) => ({
    fqn,
    simpleName: simpleNameOf(fqn),
    packageName: packageOf(fqn),
    inDegree: degrees.in[node] ?? 0,
    outDegree: degrees.out[node] ?? 0,
  }))
  const edges: GraphEdge[] = names.flatMap((source, node) => {
    const first = graph.firstEdge[node] ?? 0
    return Array.from({ length: (graph.firstEdge[node + 1] ?? 0) - first }, (_, i) => ({
      source,
      target: names[graph.target[first + i] ?? 0] ?? '',
      type: DEPENDENCY_TYPES[graph.type[first + i] ?? 0] ?? 'TYPE_REFERENCE',
    }))
  })
  return { nodes, edges, nodeCount: nodes.length, edgeCount: edges.length }
}

/** Project classes that at least so many others need, the most needed first. */
export function foundationClasses(snapshot: Snapshot, minDependents: number) {
  const graph = classGraph(snapshot)
  const { in: inDegrees } = degreesOf(graph)
  const wanted = Array.from(graph.ids.keys()).filter((node) => (inDegrees[node] ?? 0) >= minDependents)
  const dependents = new Map(wanted.map((node) => [node, new Set<number>()]))
  for (let node = 0; node < graph.ids.length; node++) {
    for (let edge = graph.firstEdge[node] ?? 0; edge < (graph.firstEdge[node + 1] ?? 0); edge++) {
      dependents.get(graph.target[edge] ?? -1)?.add(node)
    }
  }
  const nameOf = (node: number): string => snapshot.fqnOf(graph.ids[node] ?? 0)
  const foundation = [...dependents]
    .toSorted(([a, of], [b, other]) => other.size - of.size || a - b)
    .map(([node, those]) => {
      const fqn = nameOf(node)
      const each = [...those].map(nameOf)
      return {
        fqn,
        simpleName: simpleNameOf(fqn),
        packageName: packageOf(fqn),
        dependentCount: each.length,
        dependents: each,
      }
    })
  return { foundationClasses: foundation, count: foundation.length }
}
