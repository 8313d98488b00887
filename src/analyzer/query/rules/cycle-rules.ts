import { findComponents } from '../graph/components.ts'
import { packageOf, topLevelOf } from '../names.ts'
import type { Snapshot } from '../snapshot.ts'
import { ClassPattern } from './class-pattern.ts'
import { Selectors } from './class-selector.ts'
import { type Dependency, dependencies, describeDependency, ignoring } from './dependency-rules.ts'
import type { Rule } from './rule-set.ts'
import { Subjects } from './subjects.ts'
import { type Found, SourceMembers, typeName } from './violation.ts'

/**
 * Finds cycles between classes, packages or slices. Each dependency inside a cycle is a violation, with the first
 * class that has it, so that a baseline can have a part of a cycle.
 */
export function* findCycles(snapshot: Snapshot, rule: Rule): Generator<void, readonly Found[]> {
  const edges = yield* sliceDependencies(snapshot, rule)
  const slices = new Map<string, { readonly at: number; readonly next: number[] }>()
  const nodeOf = (name: string) => {
    let node = slices.get(name)
    if (node === undefined) slices.set(name, (node = { at: slices.size, next: [] }))
    return node
  }
  for (const { from, to } of edges) {
    nodeOf(from).next.push(nodeOf(to).at)
    yield
  }
  const nodes = [...slices.values()]
  const componentOf: { readonly at: number; readonly size: number }[] = []
  const components = yield* findComponents(nodes.length, (node) => nodes[node]?.next ?? [])
  for (const [at, members] of components.entries()) {
    for (const node of members) componentOf[node] = { at, size: members.length }
    yield
  }
  const found: Found[] = []
  let members: SourceMembers | undefined
  for (const { from, to, first } of edges) {
    yield
    const component = componentOf[nodeOf(from).at]
    if (component === undefined || component.at !== componentOf[nodeOf(to).at]?.at) continue
    members = SourceMembers.of(snapshot, first.classId, members)
    const [place] = describeDependency(snapshot, first, members, '')
    const used = typeName(snapshot, first.name)
    const { size } = component
    found.push({
      classId: first.classId,
      member: place?.member ?? null,
      lineNumber: place?.lineNumber ?? null,
      target: to,
      // Another class may have the dependency next time.
      label: from,
      what: `uses ${used}: ${from} depends on ${to} in a cycle of ${size}`,
    })
  }
  return found
}

interface SliceDependency {
  readonly from: string
  readonly to: string
  readonly first: Dependency
}

/** Returns the dependencies between slices, each with the first one between their classes. */
export function* sliceDependencies(
  snapshot: Snapshot,
  rule: Rule,
): Generator<void, readonly SliceDependency[]> {
  const selectors = new Selectors(snapshot)
  const isSubject = selectors.of(rule.classes)
  const subjects = new Subjects(snapshot, rule.includeTests === true)
  const sliceOf = slicing(snapshot, subjects, rule.noCycles ?? 'package')
  const between = yield* dependencies(
    subjects,
    (name) => isSubject(name) && sliceOf(name) !== undefined,
    (from, to) => isSubject(from) && sliceOf(from) !== undefined && sliceOf(from) !== sliceOf(to),
    ignoring(snapshot, rule),
  )
  const edges = new Map<string, SliceDependency>()
  for (const first of between) {
    yield
    const from = sliceOf(snapshot.index.nameIdOf(first.classId)) ?? ''
    const to = sliceOf(first.name) ?? ''
    const key = `${from} -> ${to}`
    if (!edges.has(key)) edges.set(key, { from, to, first })
  }
  return [...edges.values()]
}

/** Returns the slice of a type by the id of its name; undefined outside of the project and of all slices. */
function slicing(
  snapshot: Snapshot,
  subjects: Subjects,
  slices: string,
): (name: number) => string | undefined {
  const own = new Set(Array.from(subjects.all(), (id) => snapshot.index.nameIdOf(id)))
  const pattern = ['class', 'package'].includes(slices) ? undefined : new ClassPattern(slices)
  const known = new Map<number, string | undefined>()
  return (name) => {
    if (!own.has(name)) return undefined
    if (!known.has(name)) {
      const fqn = typeName(snapshot, name)
      const slice = slices === 'class' ? topLevelOf(fqn) : packageOf(fqn)
      known.set(name, pattern === undefined ? slice : pattern.sliceOf(fqn))
    }
    return known.get(name)
  }
}
