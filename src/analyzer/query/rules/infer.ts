import { counted } from '../../../lib/cli/counted.ts'
import { findComponents } from '../graph/components.ts'
import { packageOf } from '../names.ts'
import type { RunSearch } from '../search-queue.ts'
import type { Snapshot } from '../snapshot.ts'
import { sliceDependencies } from './cycle-rules.ts'
import type { Layer, Rule } from './rule-set.ts'
import { findViolations } from './rules.ts'
import { Subjects } from './subjects.ts'
import { keyOf } from './violation.ts'

/** More layers are not an architecture. */
const MAX_LAYERS = 30

/**
 * Proposes rules that the project satisfies: layers of packages that may use what they use now, and packages
 * without cycles; existing cycles are in `baseline`.
 */
export async function inferRules(snapshot: Snapshot, run: RunSearch) {
  return run(search(snapshot))
}

const NO_CYCLES: Rule = {
  id: 'no-package-cycles',
  reason: 'Packages in a cycle can only be understood and changed together.',
  noCycles: 'package',
}

function* search(snapshot: Snapshot) {
  const packages = new Set<string>()
  for (const id of new Subjects(snapshot, false).all()) {
    yield
    packages.add(packageOf(snapshot.fqnOf(id)))
  }
  const groups = groupsOf([...packages].toSorted())
  const edges = yield* sliceDependencies(snapshot, NO_CYCLES)
  const layers = yield* layersOf(groups, edges)
  const cycles = yield* findViolations(snapshot, NO_CYCLES)
  const baseline = cycles.map((found) => keyOf(snapshot, NO_CYCLES.id, found))
  const layered: Rule = {
    id: 'layers',
    reason: 'Layers use only the layers that they used when these rules were proposed.',
    layers,
  }
  const layerCount = Object.keys(layers).length
  const rules: readonly Rule[] = [...(layerCount < 2 ? [] : [layered]), NO_CYCLES]
  return {
    rules: { rules },
    baseline,
    note: `${counted(layerCount, 'layer')} of ${counted(packages.size, 'package')}; ${counted(baseline.length, 'dependency', 'dependencies')} between packages in cycles`,
  }
}

interface Group {
  readonly name: string
  readonly pattern: string
}

/**
 * Groups packages by their first segments after the common ones, by as many segments as give at most
 * `MAX_LAYERS` groups. Keys are packages.
 */
function groupsOf(packages: readonly string[]): ReadonlyMap<string, Group> {
  const split = packages.map((name) => name.split('.'))
  const [first = [], ...others] = split
  let common = 0
  while (common < first.length && others.every((each) => each[common] === first[common])) common++
  const deepest = Math.max(0, ...split.map(({ length }) => length))
  const countAt = (depth: number): number => new Set(split.map((each) => each.slice(0, depth).join('.'))).size
  let depth = Math.min(common + 1, deepest)
  while (depth < deepest && countAt(depth + 1) <= MAX_LAYERS) depth++
  const groups = new Map<string, Group>()
  for (const segments of split) {
    const prefix = segments.slice(0, depth)
    const pattern = patternOf(prefix.join('.'), segments.length, depth)
    const name = prefix.slice(common).join('.') || (prefix.at(-1) ?? '') || 'unnamed'
    groups.set(segments.join('.'), { name, pattern })
  }
  return groups
}

/** Returns a pattern for a package, and for those below it if they have the same layer. */
function patternOf(prefix: string, length: number, depth: number): string {
  if (prefix === '') return '*'
  return length < depth ? `${prefix}.*` : `${prefix}..`
}

/** Returns layers with what each uses, those that others use last. */
function* layersOf(
  groups: ReadonlyMap<string, Group>,
  edges: readonly { readonly from: string; readonly to: string }[],
): Generator<void, Readonly<Record<string, Layer>>> {
  const byName = new Map([...groups.values()].map((group) => [group.name, group]))
  const names = [...byName.keys()].toSorted()
  const nameOf = (name: string): string => groups.get(name)?.name ?? ''
  const used = new Map(names.map((name) => [name, new Set<string>()]))
  for (const { from, to } of edges) {
    yield
    if (nameOf(from) !== nameOf(to)) used.get(nameOf(from))?.add(nameOf(to))
  }
  const next = names.map((name) => [...(used.get(name) ?? [])].map((each) => names.indexOf(each)))
  const components = yield* findComponents(names.length, (node) => next[node] ?? [])
  const order = components.toReversed().flatMap((nodes) => nodes.map((node) => names[node] ?? '').toSorted())
  return Object.fromEntries(
    order.map((name) => [
      name,
      { classes: byName.get(name)?.pattern ?? '', mayUse: order.filter((each) => used.get(name)?.has(each)) },
    ]),
  )
}
