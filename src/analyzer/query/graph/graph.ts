import { DEPENDENCY_TYPES, dependencyType, isOfDescriptor } from './dependency-type.ts'
import { packageOf, simpleNameOf } from '../names.ts'
import type { Snapshot } from '../snapshot.ts'
import { WrittenCode } from '../written/written-code.ts'

/** Dependencies between project classes. Nodes are indices in `ids`, which is sorted by name. */
export interface ClassGraph {
  readonly ids: Int32Array
  /** Index of each node's first edge. Edges are distinct and sorted by target and type. */
  readonly firstEdge: Int32Array
  readonly target: Int32Array
  /** Index in DEPENDENCY_TYPES. */
  readonly type: Uint8Array
}

const graphs = new WeakMap<Snapshot, ClassGraph>()

/**
 * Returns the dependency graph, with one edge for each source, target and type, and none from a class to
 * itself. Cached per snapshot.
 */
export function classGraph(snapshot: Snapshot): ClassGraph {
  let graph = graphs.get(snapshot)
  if (graph === undefined) {
    graph = buildGraph(snapshot)
    graphs.set(snapshot, graph)
  }
  return graph
}

/** Packs an edge into one number, sortable by source, target and type. */
const TYPES = 8
const NODES = 2 ** 24

function buildGraph(snapshot: Snapshot): ClassGraph {
  const { index } = snapshot
  const ids = index.writtenOfProject()
  const code = WrittenCode.of(snapshot)
  const nodeOf = new Int32Array(index.classCount).fill(-1)
  for (const [node, id] of ids.entries()) nodeOf[id] = node
  for (const id of index.ofProject()) if (index.isMade(id)) nodeOf[id] = nodeOf[code.classOf(id)] ?? -1
  const edges = new Set<number>()
  for (const { digest, firstClass, source } of index.slices) {
    if (source !== 'PROJECT') continue
    const { types, uses } = digest
    for (let row = 0; row < types.count; row++) {
      const target = nodeOf[index.findByNameId(types.name[row] ?? -1) ?? -1] ?? -1
      if (target < 0) continue
      const name = index.names.get(types.name[row] ?? -1)
      for (let use = types.firstUse[row] ?? 0; use < (types.firstUse[row + 1] ?? 0); use++) {
        if (isOfDescriptor(name, uses.kind[use] ?? 0)) continue
        const from = nodeOf[firstClass + (uses.class[use] ?? 0)] ?? -1
        const isMade = from >= 0 && index.isMade(firstClass + (uses.class[use] ?? 0))
        const type = DEPENDENCY_TYPES.indexOf(isMade ? 'TYPE_REFERENCE' : dependencyType(uses.kind[use] ?? 0))
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

/** Returns each node's number of distinct dependencies and dependents. */
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

/** Returns the graph with class names. */
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

/** Returns the project classes with a minimum number of dependents, sorted by that number. */
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
