import { counted } from '../../../lib/cli/counted.ts'
import type { DEPENDENCY_FINDINGS } from '../../choices.ts'
import type { DependencyAnswer } from '../../project/declared-dependencies.ts'
import { pageOf, type Paging } from '../paging.ts'
import type { RunSearch } from '../search-queue.ts'
import type { Snapshot } from '../snapshot.ts'
import { NOWHERE } from '../written/attribution.ts'
import { WrittenCode } from '../written/written-code.ts'
import { compare } from '../sort-in-turns.ts'
import { type Finding, type Findings, findFindings } from './find-findings.ts'

/** Classes that a finding lists. */
const MAX_CLASSES = 10
const MAX_NAMES = 3
const PROCESSOR = 'javax.annotation.processing.Processor'

/** A dependency that a module should perhaps not declare, or should declare. */
export interface DependencyFinding {
  readonly kind: 'unused' | 'undeclared'
  /** "group:artifact". */
  readonly module: string
  /** "group:artifact:type:version", with a classifier after the type if it has one. */
  readonly coordinates: string
  readonly scope: string
  /** The declared dependency that brings an undeclared one. */
  readonly broughtBy: string | null
  /** First classes of the module that use it, by name. */
  readonly classes: readonly string[]
  readonly classCount: number
  /** Reasons to leave the declarations as they are. */
  readonly reasons: readonly string[]
}

/** Returns the names that each archive registers. */
export type ListServices = (paths: readonly string[]) => Promise<readonly (readonly string[])[]>

/**
 * Returns the dependencies that modules declare but do not use, and those that they use but do not declare.
 * If the build tool did not report them, the answer has the reason as `problem`.
 *
 * @throws the errors of `run`
 */
export async function checkDependencies(
  snapshot: Snapshot,
  { modules, missing, problem }: DependencyAnswer,
  of: (typeof DEPENDENCY_FINDINGS)[number] | undefined,
  paging: Paging,
  { run, listServices }: { readonly run: RunSearch; readonly listServices: ListServices },
) {
  const { findings, uncompiled, withoutTests } = await run(findFindings(snapshot, modules))
  const asked = findings.filter(({ kind }) => of === undefined || kind === of)
  const unused = asked.filter(({ kind }) => kind === 'unused')
  // Modules often declare the same ones.
  const archives = [...new Set(unused.flatMap(({ dependency }) => dependency.path ?? []))]
  const services = await listServices(archives)
  const registered = new Map(archives.map((path, at) => [path, services[at] ?? []]))
  const all = asked
    .map((finding) => ({
      finding,
      reasons: reasonsOf(finding, registered.get(finding.dependency.path ?? '') ?? []),
    }))
    .toSorted((a, b) => compare(sortKey(a.finding), sortKey(b.finding)))
  const { rows, ...page } = pageOf(all, paging, ({ finding, reasons }) => viewOf(snapshot, finding, reasons))
  return {
    dependencies: rows,
    ...page,
    unusedCount: unused.length,
    undeclaredCount: asked.length - unused.length,
    /** Findings without a reason to leave the declarations as they are. */
    unexplainedCount: all.filter(({ reasons }) => reasons.length === 0).length,
    moduleCount: modules.length,
    problem,
    notes: notesOf(missing, { uncompiled, withoutTests }),
    appliedFilter: { of: of ?? null },
  }
}

function sortKey({ module, kind, dependency }: Finding): string {
  return [module, kind, dependency.coordinates].join('\0')
}

function viewOf(
  snapshot: Snapshot,
  { kind, module, dependency, users }: Finding,
  reasons: readonly string[],
): DependencyFinding {
  const { coordinates, scope, broughtBy = null } = dependency
  const ranks = snapshot.index.ranks()
  const code = WrittenCode.of(snapshot)
  const written = [...new Set(users.map((id) => code.classOf(id)))].filter((id) => id !== NOWHERE)
  const classes = written
    .toSorted((a, b) => (ranks[a] ?? 0) - (ranks[b] ?? 0))
    .slice(0, MAX_CLASSES)
    .map((id) => snapshot.fqnOf(id))
  return { kind, module, coordinates, scope, broughtBy, classes, classCount: written.length, reasons }
}

function reasonsOf(
  { kind, dependency, brings, isOnlyBringing, hasSourceAnnotations }: Finding,
  registered: readonly string[],
): readonly string[] {
  if (kind === 'undeclared')
    return isOnlyBringing ? [`${dependency.broughtBy} has no classes and only brings others`] : []
  const services = registered.filter((name) => name !== PROCESSOR)
  return [
    ...(isOnlyBringing ? ['it has no classes and only brings others'] : []),
    ...(brings.length > 0 ? [`it brings ${listed(brings)}, which classes use`] : []),
    ...(hasSourceAnnotations ? ['it has annotations with SOURCE retention'] : []),
    ...(services.length < registered.length ? ['it has an annotation processor'] : []),
    ...(services.length > 0 ? [`it registers ${listed(services)}`] : []),
  ]
}

function listed(names: readonly string[]): string {
  const more = names.length - MAX_NAMES
  return names.slice(0, MAX_NAMES).join(', ') + (more > 0 ? ` and ${more} more` : '')
}

function notesOf(
  missing: readonly string[],
  { uncompiled, withoutTests }: Omit<Findings, 'findings'>,
): readonly string[] {
  return [
    ...noteOf(missing, 'not checked, because the build tool did not resolve them'),
    ...noteOf(uncompiled, 'not checked, because they have no compiled classes'),
    ...noteOf(withoutTests, 'checked without test dependencies, because tests are not compiled'),
  ]
}

function noteOf(modules: readonly string[], text: string): readonly string[] {
  return modules.length === 0 ? [] : [`${counted(modules.length, 'module')} ${text}: ${listed(modules)}`]
}
