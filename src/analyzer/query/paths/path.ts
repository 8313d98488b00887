import { counted } from '../../../lib/cli/counted.ts'
import { ACC } from '../../bytecode/access-flags.ts'
import type { RunSearch } from '../search-queue.ts'
import type { Snapshot } from '../snapshot.ts'
import { callGraphOf } from './call-graph.ts'
import { findPaths, type FoundPaths, type SearchEnd } from './find-paths.ts'
import { endOf, methodsOf, type PathEnd, startsOf } from './path-end.ts'
import { type PathStep, StepView } from './path-step.ts'
import { ScopedCalls } from './scoped-calls.ts'

/** Filter of paths. */
export interface PathFilter {
  /** Maximum number of paths. */
  readonly limit: number
  /** Maximum number of calls in a path. */
  readonly maxDepth: number
  /** Whether paths may lead through libraries and the JDK. */
  readonly includeLibraries: boolean
}

/** Default of `limit`. */
export const DEFAULT_PATHS = 5
/** Default of `maxDepth`. */
export const DEFAULT_DEPTH = 20

/** Bounds of the work for one query, see `findPaths`. */
const BOUNDS = { maxVisited: 100_000, maxCalls: 5_000_000, maxFollowed: 1_000_000 }

/**
 * Returns the shortest paths of calls from a class or method to another, shortest first. `from` and `to` are
 * a class or `owner#method`; a class means all of its methods, a method all of its overloads.
 *
 * @throws BAD_REQUEST, CLASS_NOT_FOUND, METHOD_NOT_FOUND, and the errors of `run`
 */
export async function pathOf(
  snapshot: Snapshot,
  { from, to }: { readonly from: string; readonly to: string },
  filter: PathFilter,
  run: RunSearch,
) {
  const graph = callGraphOf(snapshot)
  const start = endOf(snapshot, from)
  const end = endOf(snapshot, to)
  if (start.classId === undefined) snapshot.getClass(start.fqn)
  const sources = new Set(startsOf(snapshot, graph, start))
  const read = new Set(methodsOf(snapshot, graph, end))
  const calls = new ScopedCalls(snapshot, graph, sources, read, filter)
  const { found, paths } = await run(
    search(new StepView(snapshot, graph, calls), calls, {
      sources,
      targets: targetsOf(snapshot, calls, end, read),
      ...filter,
      ...BOUNDS,
    }),
  )
  const isAbstract = [...sources].every((source) => (graph.flagsOf(source) & ACC.ABSTRACT) !== 0)
  return {
    from: start.label,
    to: end.label,
    paths,
    visitedCount: found.visitedCount,
    isCut: !['limit', 'complete'].includes(found.end),
    note: isAbstract
      ? `${start.label} has no code: name a class that implements it`
      : noteOf(found, end.label, filter),
    appliedFilter: { ...filter },
  }
}

/**
 * Returns the methods that a path may end at, including those that only calls name.
 *
 * @param read those that are on the class path
 */
function* targetsOf(
  snapshot: Snapshot,
  calls: ScopedCalls,
  end: PathEnd,
  read: ReadonlySet<number>,
): Generator<void, ReadonlySet<number>> {
  if (read.size > 0 || (end.classId !== undefined && end.method === undefined)) return read
  const name = end.method === undefined ? undefined : snapshot.index.names.find(end.method)
  return new Set(yield* calls.addUnread(end.type, name))
}

interface Search extends PathFilter {
  readonly sources: ReadonlySet<number>
  readonly targets: Generator<void, ReadonlySet<number>>
  readonly maxVisited: number
  readonly maxCalls: number
  readonly maxFollowed: number
}

interface Path {
  /** Number of steps. */
  readonly length: number
  readonly steps: readonly PathStep[]
}

function* search(
  view: StepView,
  calls: ScopedCalls,
  { targets, ...request }: Search,
): Generator<void, { readonly found: FoundPaths; readonly paths: readonly Path[] }> {
  const found = yield* findPaths(calls, { ...request, targets: yield* targets })
  const paths: Path[] = []
  for (const methods of found.paths) {
    const steps: PathStep[] = []
    for (const [at, callee] of methods.entries())
      if (at > 0) steps.push(yield* view.stepOf(methods[at - 1] ?? -1, callee))
    paths.push({ length: steps.length, steps })
  }
  return { found, paths }
}

/** Describes what was searched, so that an empty list is never mistaken for proof. */
function noteOf({ paths, visitedCount, end }: FoundPaths, to: string, filter: PathFilter): string {
  const { maxDepth, includeLibraries } = filter
  const found = paths.length === 0 ? 'no path' : counted(paths.length, 'path')
  const reach = visitedCount === 1 ? 'reaches' : 'reach'
  const searched = `searched ${counted(visitedCount, 'method')} that ${reach} ${to}${includeLibraries ? '' : ', without libraries and the JDK'}`
  const upTo = `${found} of at most ${counted(maxDepth, 'call')}; ${searched}`
  const stopped = `${found} so far; ${searched}, which is the limit of a search; there may be more`
  const notes: Readonly<Record<SearchEnd, string>> = {
    limit: `${found}, the shortest; ${searched}; there may be more`,
    complete: upTo,
    depth: `${upTo}; there may be longer ones`,
    visited: stopped,
    followed: stopped,
  }
  return notes[end]
}
