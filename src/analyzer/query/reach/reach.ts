import { counted } from '../../../lib/cli/counted.ts'
import type { Analysis } from '../../choices.ts'
import { fault } from '../../errors.ts'
import { toFqn } from '../names.ts'
import type { MethodView } from '../paths/path-step.ts'
import { partsOf } from '../paths/slice-calls.ts'
import type { RunSearch } from '../search-queue.ts'
import type { Snapshot } from '../snapshot.ts'
import type { Root } from './find-roots.ts'
import { findTargets, type Target, type TargetSite } from './find-targets.ts'
import { listed, rootsNamed, startOf } from './given-roots.ts'
import { type ProjectCode, projectCodeOf } from './project-code.ts'
import { type ReachStep, ReachView, type RootView } from './reach-step.ts'
import { Traversal } from './traverse.ts'

const MAX_TARGETS = 1_000

/** Options of a traversal. */
export interface ReachFilter {
  readonly analysis: Analysis
  /** Whether calls in libraries and the JDK are followed. */
  readonly includeLibraries: boolean
}

/** Whether a target is reachable, and why. */
export interface TargetView {
  readonly target: string
  /** `absent`: neither the class path nor any call has it. */
  readonly status: 'reachable' | 'unreachable' | 'absent'
  /** Null unless it is reachable. */
  readonly root: RootView | null
  readonly steps: readonly ReachStep[]
  /** Why it is absent. */
  readonly note: string | null
}

/** Code that was reached from roots. */
export interface ReachedCode {
  readonly code: ProjectCode
  readonly roots: readonly Root[]
  readonly traversal: Traversal
}

/** Follows calls from roots, a comma-separated list. @throws NO_CLASSES, and as `rootsNamed` */
export function* reachFrom(
  snapshot: Snapshot,
  from: string,
  { analysis, includeLibraries }: ReachFilter,
): Generator<void, ReachedCode> {
  snapshot.requireClasses()
  const code = yield* projectCodeOf(snapshot, includeLibraries)
  const roots = yield* rootsNamed(snapshot, code, listed(from))
  const traversal = new Traversal(code, analysis)
  yield* traversal.run(startOf(roots))
  return { code, roots, traversal }
}

/**
 * Returns which of the classes and methods in `to` can be reached from the roots in `from`, both
 * comma-separated lists, each with a shortest path.
 *
 * @throws BAD_REQUEST, CLASS_NOT_FOUND, METHOD_NOT_FOUND, and the errors of `run`
 */
export async function reachOf(
  snapshot: Snapshot,
  { from, to }: { readonly from: string; readonly to: string },
  filter: ReachFilter,
  run: RunSearch,
) {
  const names = listed(to)
  if (names.length === 0 || names.length > MAX_TARGETS)
    throw fault('BAD_REQUEST', `"to" must list 1 to ${MAX_TARGETS} classes or methods, not ${names.length}`)
  return run(search(snapshot, from, names, filter))
}

function* search(snapshot: Snapshot, from: string, names: readonly string[], filter: ReachFilter) {
  const reached = yield* reachFrom(snapshot, from, filter)
  const { code, roots, traversal } = reached
  const view = new ReachView(snapshot, code, traversal, roots)
  const found = yield* findTargets(snapshot, code, traversal, names)
  const targets: TargetView[] = []
  for (const target of found) {
    yield
    targets.push(viewOf(snapshot, reached, view, target))
  }
  const reachableCount = targets.filter(({ status }) => status === 'reachable').length
  return {
    targets,
    reachableCount,
    rootCounts: countsOf(roots),
    reachedMethodCount: traversal.reached.length,
    note: noteOf(reached, filter),
    appliedFilter: { from, ...filter },
  }
}

function viewOf(
  snapshot: Snapshot,
  { code, traversal }: ReachedCode,
  view: ReachView,
  target: Target,
): TargetView {
  const { label, absent } = target
  const inside = target.methods
    .filter((method) => traversal.isReached(method))
    .map((method) => ({ length: view.lengthOf(method), path: () => view.pathOf(method) }))
  const outside = target.sites.map((found) => ({
    length: view.lengthOf(traversal.callerOf(found.site)) + 1,
    path: () => view.pathTo(found.site, found.isDirect, calleeAt(snapshot, code, view, found)),
  }))
  const [shortest] = [...inside, ...outside].toSorted((a, b) => a.length - b.length)
  if (shortest !== undefined) return { target: label, status: 'reachable', ...shortest.path(), note: null }
  const status = absent === undefined ? 'unreachable' : 'absent'
  return { target: label, status, root: null, steps: [], note: absent ?? null }
}

function calleeAt(
  snapshot: Snapshot,
  code: ProjectCode,
  view: ReachView,
  { site, method }: TargetSite,
): MethodView {
  if (method >= 0) return view.methodView(method)
  const { owner, signature } = code.siteOf(site)
  const { name, descriptor } = partsOf(signature)
  return {
    fqn: toFqn(snapshot.index.names.get(owner)),
    source: 'UNKNOWN',
    name: snapshot.index.names.get(name),
    descriptor: code.graph.descriptorText(descriptor),
  }
}

/** Returns the number of roots of each kind. */
export function countsOf(roots: readonly Root[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { kind } of roots) counts[kind] = (counts[kind] ?? 0) + 1
  return counts
}

/** Describes what a traversal followed, so that an empty list is never mistaken for proof. */
export function noteOf({ roots, traversal }: ReachedCode, { includeLibraries }: ReachFilter): string {
  if (roots.length === 0) return 'no entry points were found: name some, for example public for a library'
  const kinds = Object.entries(countsOf(roots)).map(([kind, count]) => `${kind} ${count}`)
  const scope = includeLibraries ? '' : ', without libraries and the JDK'
  return `followed ${counted(traversal.reached.length, 'method')} from ${counted(roots.length, 'root')} (${kinds.join(', ')})${scope}`
}
