import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { DependencyModule, ModuleDependency } from '../../project/dependency-report.ts'
import type { IndexedSlice } from '../../index/indexed-slice.ts'
import { annotationView } from '../annotations/annotation-value.ts'
import type { Snapshot } from '../snapshot.ts'

/** A dependency whose declaration and use differ. */
export interface Finding {
  readonly kind: 'unused' | 'undeclared'
  /** "group:artifact". */
  readonly module: string
  readonly dependency: ModuleDependency
  /** Classes of the module that use an undeclared dependency, by id. */
  readonly users: readonly number[]
  /** Coordinates of used dependencies that only an unused one brings. */
  readonly brings: readonly string[]
  /** Whether the declared dependency has no classes itself, such as a POM or a starter. */
  readonly isOnlyBringing: boolean
  /** Whether an unused dependency has annotations with SOURCE retention, which class files never mention. */
  readonly hasSourceAnnotations: boolean
}

/** Findings of all modules. */
export interface Findings {
  readonly findings: readonly Finding[]
  /** Modules without compiled classes. */
  readonly uncompiled: readonly string[]
  /** Modules whose test classes are not compiled: their test dependencies are not judged. */
  readonly withoutTests: readonly string[]
}

/** Compares what each module declares with the types that its class files mention, in one pass over their slices. */
export function* findFindings(
  snapshot: Snapshot,
  modules: readonly DependencyModule[],
): Generator<void, Findings> {
  const index = new LocationIndex(snapshot)
  yield* index.fill()
  const findings: Finding[] = []
  const uncompiled: string[] = []
  const withoutTests: string[] = []
  for (const module of modules) {
    const main = index.slicesAt(join(module.folder, 'target/classes'))
    const tests = index.slicesAt(join(module.folder, 'target/test-classes'))
    // A class that is not compiled may use any of them.
    if (main.length === 0 && (tests.length === 0 || existsSync(join(module.folder, 'src/main')))) {
      uncompiled.push(module.name)
      continue
    }
    const areTestsKnown = tests.length > 0 || !existsSync(join(module.folder, 'src/test'))
    if (!areTestsKnown) withoutTests.push(module.name)
    const uses = yield* usesOf(index, module, [...main, ...tests])
    findings.push(...undeclaredIn(index, module, uses))
    findings.push(...(yield* unusedIn(index, module, uses, areTestsKnown)))
  }
  return { findings, uncompiled, withoutTests }
}

/** Places of classes, by the outermost archive or folder. */
class LocationIndex {
  readonly #snapshot: Snapshot
  readonly #slices: ReadonlyMap<string, readonly IndexedSlice[]>
  /** Classes that another of the same name precedes on the class path, by name id. */
  readonly #hidden = new Map<number, number[]>()

  constructor(snapshot: Snapshot) {
    this.#snapshot = snapshot
    this.#slices = Map.groupBy(snapshot.index.slices, ({ location }) => outermostOf(location))
  }

  *fill(): Generator<void, void> {
    const { index } = this.#snapshot
    for (let id = 0; id < index.classCount; id++) {
      if (id % 1024 === 0) yield
      if (!index.isHidden(id)) continue
      const name = index.nameIdOf(id)
      const ids = this.#hidden.get(name)
      if (ids === undefined) this.#hidden.set(name, [id])
      else ids.push(id)
    }
  }

  slicesAt(path: string): readonly IndexedSlice[] {
    return this.#slices.get(path) ?? []
  }

  /** Whether a path has a class that is not the description of a module or package. */
  hasClasses(path: string): boolean {
    return this.slicesAt(path).some(({ digest }) =>
      digest.classes.name.some(
        (name) => !/(?:^|\/)(?:module|package)-info$/.test(this.#snapshot.index.names.get(name)),
      ),
    )
  }

  /** Whether a path has an annotation with SOURCE retention. */
  hasSourceAnnotations(path: string): boolean {
    const retention = this.#snapshot.index.names.find('java/lang/annotation/Retention')
    return this.slicesAt(path).some((slice) => {
      const { type, row } = slice.digest.annotations
      const found = Array.from(row).filter((_, at) => type[at] === retention)
      return found.some((each) => {
        const { value } = annotationView(this.#snapshot.facts(slice), each).parameters
        return value?.kind === 'ENUM' && value.value === 'SOURCE'
      })
    })
  }

  /** Returns the paths that have a class, and whether the JDK has it too. */
  placesOf(name: number): { readonly paths: readonly string[]; readonly isInJdk: boolean } {
    const { index } = this.#snapshot
    const first = index.findByNameId(name)
    if (first === undefined) return { paths: [], isInJdk: false }
    const slices = [first, ...(this.#hidden.get(name) ?? [])].map((id) => index.sliceOf(id))
    return {
      paths: slices.map(({ location }) => outermostOf(location)),
      isInJdk: slices.some(({ source }) => source === 'JDK'),
    }
  }
}

interface ModuleUses {
  /** Dependencies that have a used class. */
  readonly used: ReadonlySet<ModuleDependency>
  /** Classes that use a dependency that no declared one replaces. */
  readonly users: ReadonlyMap<ModuleDependency, ReadonlySet<number>>
}

function* usesOf(
  index: LocationIndex,
  { folder, dependencies }: DependencyModule,
  slices: readonly IndexedSlice[],
): Generator<void, ModuleUses> {
  const own = new Set([join(folder, 'target/classes'), join(folder, 'target/test-classes')])
  const byPath = Map.groupBy(dependencies, ({ path }) => path ?? '')
  const used = new Set<ModuleDependency>()
  const users = new Map<ModuleDependency, Set<number>>()
  /** Undeclared dependency by type name, or null. */
  const answers = new Map<number, ModuleDependency | null>()
  const answer = (name: number): ModuleDependency | null => {
    const { paths, isInJdk } = index.placesOf(name)
    if (paths.some((path) => own.has(path))) return null
    const found = paths.flatMap((path) => byPath.get(path) ?? [])
    const declared = found.filter(({ broughtBy }) => broughtBy === undefined)
    for (const each of declared) used.add(each)
    // A JVM loads the JDK's class, and the compiler finds it without the dependency.
    if (declared.length > 0 || isInJdk) return null
    return found[0] ?? null
  }
  for (const { digest, firstClass } of slices) {
    yield
    const { types, uses } = digest
    for (let row = 0; row < types.name.length; row++) {
      const name = types.name[row] ?? -1
      let undeclared = answers.get(name)
      if (undeclared === undefined) answers.set(name, (undeclared = answer(name)))
      if (undeclared === null) continue
      used.add(undeclared)
      let ids = users.get(undeclared)
      if (ids === undefined) users.set(undeclared, (ids = new Set()))
      for (let use = types.firstUse[row] ?? 0; use < (types.firstUse[row + 1] ?? 0); use++)
        ids.add(firstClass + (uses.class[use] ?? 0))
    }
  }
  return { used, users }
}

function undeclaredIn(
  index: LocationIndex,
  { name, dependencies }: DependencyModule,
  { users }: ModuleUses,
): readonly Finding[] {
  return [...users].map(([dependency, ids]) => {
    const declared = dependencies.find(({ coordinates }) => coordinates === dependency.broughtBy)
    return {
      kind: 'undeclared',
      module: name,
      dependency,
      users: [...ids],
      brings: [],
      isOnlyBringing: !index.hasClasses(declared?.path ?? ''),
      hasSourceAnnotations: false,
    }
  })
}

function* unusedIn(
  index: LocationIndex,
  { name, dependencies }: DependencyModule,
  { used }: ModuleUses,
  areTestsKnown: boolean,
): Generator<void, readonly Finding[]> {
  const findings: Finding[] = []
  for (const dependency of dependencies) {
    const { broughtBy, scope, path = '' } = dependency
    if (broughtBy !== undefined || used.has(dependency)) continue
    // Its declaration states that no class needs it to compile.
    if (scope === 'runtime' || (scope === 'test' && !areTestsKnown)) continue
    yield
    findings.push({
      kind: 'unused',
      module: name,
      dependency,
      users: [],
      brings: [...used]
        .filter((each) => each.broughtBy === dependency.coordinates)
        .map(({ coordinates }) => coordinates),
      isOnlyBringing: !index.hasClasses(path),
      hasSourceAnnotations: index.hasSourceAnnotations(path),
    })
  }
  return findings
}

/** Returns the path of the class path entry for a location, which may be a nested archive. */
function outermostOf(location: string): string {
  return location.split('!/', 1)[0] ?? location
}
