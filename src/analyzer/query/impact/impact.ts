import { counted } from '../../../lib/cli/counted.ts'
import type { Analysis, ImpactRows } from '../../choices.ts'
import { pageOf, type Paging } from '../paging.ts'
import type { Root } from '../reach/find-roots.ts'
import { listed, rootsNamed } from '../reach/given-roots.ts'
import { type ProjectCode, projectCodeOf } from '../reach/project-code.ts'
import { type ReachStep, ReachSteps } from '../reach/reach-step.ts'
import type { RunSearch } from '../search-queue.ts'
import type { Snapshot } from '../snapshot.ts'
import { WrittenCode } from '../written/written-code.ts'
import type { ClassChange, FileChange } from './class-change.ts'
import { type ChangeView, findSeeds, type Seeds } from './find-seeds.ts'
import { ImpactSearch } from './impact-search.ts'
import { ReverseCalls } from './reverse-calls.ts'
import { selectTests } from './select-tests.ts'

/** Differences from an older version. */
export interface Changed {
  readonly classes: readonly ClassChange[]
  readonly files: readonly FileChange[]
}

/** Options of a search for what changes affect. */
export interface ImpactFilter {
  /** Comma-separated entry points, as for `reach`. */
  readonly from: string
  readonly analysis: Analysis
  readonly includeLibraries: boolean
  /** Rows of the answer. */
  readonly of: ImpactRows
}

/** A step towards a change; `use` is one that is neither a call nor caused by one. */
interface ImpactStep extends Omit<ReachStep, 'via'> {
  readonly via: ReachStep['via'] | 'use'
}

/** An entry point or method that can notice a change. */
export interface AffectedView {
  /** Kind of entry point, or "method". */
  readonly kind: Root['kind'] | 'method'
  /** Why it is an entry point; null for a method. */
  readonly reason: string | null
  readonly classFqn: string
  readonly member: string
  readonly descriptor: string
  /** The change that it can notice. */
  readonly change: ChangeView
  /** A shortest path to the change; empty if the method itself changed. */
  readonly steps: readonly ImpactStep[]
}

interface Reversed {
  readonly key: string
  readonly reverse: ReverseCalls
  readonly roots: readonly Root[]
}

/** The last used calls of each code. */
const reversed = new WeakMap<ProjectCode, Reversed>()

/**
 * Returns which entry points, tests and methods can notice changes, each with a shortest path.
 *
 * @throws BAD_REQUEST, CLASS_NOT_FOUND, METHOD_NOT_FOUND, and the errors of `run`
 */
export function impactOf(
  snapshot: Snapshot,
  changed: Changed,
  filter: ImpactFilter,
  paging: Paging,
  run: RunSearch,
) {
  return run(search(snapshot, changed, filter, paging))
}

function* search(snapshot: Snapshot, changed: Changed, filter: ImpactFilter, paging: Paging) {
  const code = yield* projectCodeOf(snapshot, filter.includeLibraries)
  const { reverse, roots } = yield* reversedOf(snapshot, code, filter)
  const found = yield* findSeeds(snapshot, code, changed)
  const impact = new ImpactSearch(code, reverse)
  yield* impact.run(found.seeds)
  const entries = yield* affectedRoots(code, reverse, roots, impact)
  const tests = new Set(entries.filter(({ root }) => root.kind === 'test').map(({ root }) => root))
  const selection = yield* selectTests(snapshot, code, { reverse, roots, search: impact }, (root) =>
    tests.has(root),
  )
  const view = new ImpactView(snapshot, code, found, impact)
  const written = impact.affected.filter((method) => !isMade(snapshot, code, method))
  const rows: readonly Affected[] =
    filter.of === 'method'
      ? Array.from(written, (method) => ({ method, entry: method, root: undefined }))
      : entries
  const { rows: shown, ...page } = pageOf(rows, paging, (each) => each)
  const affected: AffectedView[] = []
  for (const each of shown) {
    yield
    affected.push(view.affectedView(each))
  }
  const endpointCount = entries.length - tests.size
  return {
    affected,
    ...page,
    changes: found.changes,
    changeCount: found.changes.length,
    methodCount: written.length,
    endpointCount,
    testCount: tests.size,
    selection,
    constants: found.constants,
    unknownFiles: found.unknownFiles,
    note: noteOf(found, {
      methodCount: written.length,
      endpointCount,
      testCount: tests.size,
      rootCount: roots.length,
    }),
    appliedFilter: { ...filter },
  }
}

function* reversedOf(
  snapshot: Snapshot,
  code: ProjectCode,
  { from, analysis }: ImpactFilter,
): Generator<void, Reversed> {
  const key = `${analysis} ${from}`
  const known = reversed.get(code)
  if (known?.key === key) return known
  const roots = yield* rootsNamed(snapshot, code, listed(from))
  const created = roots.filter(({ isCreated }) => isCreated).map(({ classId }) => classId)
  const reverse = yield* ReverseCalls.read(code, analysis, created)
  const read = { key, reverse, roots }
  reversed.set(code, read)
  return read
}

/** Whether a compiler made a method; it counts for the written ones, which are affected too. */
function isMade(snapshot: Snapshot, { graph }: ProjectCode, method: number): boolean {
  const { classId, row } = graph.placeOf(method)
  return WrittenCode.of(snapshot).isMade(classId, row)
}

interface Affected {
  /** The method whose path is shown. */
  readonly method: number
  /** The method that the row names. */
  readonly entry: number
  readonly root: Root | undefined
}

/**
 * Returns the entry points that are affected, those with the shortest paths first: by a method that code
 * outside calls, or by an object that it creates.
 */
function* affectedRoots(
  code: ProjectCode,
  reverse: ReverseCalls,
  roots: readonly Root[],
  impact: ImpactSearch,
): Generator<void, readonly (Affected & { readonly root: Root })[]> {
  const byClass = new Map<number, number>()
  for (const method of impact.affected) {
    yield
    for (const classId of reverse.calledBack.of(method))
      if (!byClass.has(classId)) byClass.set(classId, method)
    const own = code.classOf(method)
    if (code.initializerOf(own) !== method) continue
    const open = [own]
    for (let classId = open.pop(); classId !== undefined; classId = open.pop()) {
      if (byClass.has(classId) && classId !== own) continue
      if (!byClass.has(classId)) byClass.set(classId, method)
      open.push(...reverse.children.of(classId))
    }
  }
  const found: (Affected & { readonly root: Root })[] = []
  const seen = new Set<string>()
  for (const root of roots) {
    yield
    const candidates = root.methods.filter((method) => impact.isAffected(method))
    const created = root.isCreated ? byClass.get(root.classId) : undefined
    if (created !== undefined) candidates.push(created)
    const [method] = candidates.toSorted((a, b) => impact.depthOf(a) - impact.depthOf(b))
    const entry = root.methods[0] ?? method
    const key = `${root.kind} ${root.classId} ${entry}`
    if (method === undefined || entry === undefined || seen.has(key)) continue
    seen.add(key)
    found.push({ method, entry, root })
  }
  return found.toSorted((a, b) => impact.depthOf(a.method) - impact.depthOf(b.method))
}

/** Describes what is affected. */
class ImpactView {
  readonly #snapshot: Snapshot
  readonly #steps: ReachSteps
  readonly #found: Seeds
  readonly #impact: ImpactSearch

  constructor(snapshot: Snapshot, code: ProjectCode, found: Seeds, impact: ImpactSearch) {
    this.#snapshot = snapshot
    this.#steps = new ReachSteps(snapshot, code)
    this.#found = found
    this.#impact = impact
  }

  affectedView({ method, entry, root }: Affected): AffectedView {
    const { fqn, name, descriptor } = this.#steps.methodView(entry)
    return {
      kind: root?.kind ?? 'method',
      reason: root?.reason ?? null,
      classFqn: root === undefined ? fqn : this.#snapshot.fqnOf(root.classId),
      member: name,
      descriptor,
      ...this.#pathOf(method),
    }
  }

  #pathOf(method: number): Pick<AffectedView, 'change' | 'steps'> {
    const path: { readonly from: number; readonly to: number; readonly step: ImpactStep }[] = []
    for (let at = method; ;) {
      const next = this.#impact.nextOf(at)
      if (next === undefined) throw new RangeError(`method ${at} is not affected`)
      if (next.is === 'seed') {
        const seed = this.#found.seeds[next.seed]
        const change = seed === undefined ? undefined : this.#found.changes[seed.change]
        if (seed === undefined || change === undefined)
          throw new RangeError(`seed ${next.seed} does not exist`)
        if (seed.reason !== null) path.push({ from: at, to: -1, step: this.#useOf(at, change, seed.reason) })
        return { change, steps: this.#steps.joined(path) }
      }
      const cause =
        next.is === 'call'
          ? ({ is: 'call', from: at, site: next.site } as const)
          : ({ is: next.is, from: at } as const)
      path.push({ from: at, to: next.to, step: this.#steps.stepOf(cause, next.to) })
      at = next.to
    }
  }

  #useOf(method: number, { classFqn, member, descriptor }: ChangeView, reason: string): ImpactStep {
    return {
      ...this.#steps.callerFields(method),
      ownerType: classFqn,
      lineNumber: null,
      via: 'use',
      reason,
      calleeFqn: classFqn,
      calleeSource: 'PROJECT',
      calleeName: member ?? '',
      descriptor: descriptor ?? '',
    }
  }
}

/** Describes what was searched, so that an empty list is never mistaken for proof. */
function noteOf(
  { changes, unknownFiles }: Seeds,
  counts: Readonly<Record<'methodCount' | 'endpointCount' | 'testCount' | 'rootCount', number>>,
): string {
  const changed = counted(changes.length, 'change')
  const noticed = [
    counted(counts.methodCount, 'method'),
    counted(counts.endpointCount, 'entry point'),
    counted(counts.testCount, 'test'),
  ].join(', ')
  const unknown =
    unknownFiles.length === 0 ? '' : `, ${counted(unknownFiles.length, 'changed file')} without classes`
  const roots = counts.rootCount === 0 ? ', no entry points were found' : ''
  return `${changed}, noticed by ${noticed}${unknown}${roots}`
}
