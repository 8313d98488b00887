import { ACC } from '../../bytecode/access-flags.ts'
import type { ProjectCode } from '../reach/project-code.ts'
import type { Root } from '../reach/find-roots.ts'
import { toInternal } from '../names.ts'
import type { Snapshot } from '../snapshot.ts'
import { allSubtypes } from '../types/subtypes.ts'
import type { ImpactSearch } from './impact-search.ts'
import type { ReverseCalls } from './reverse-calls.ts'

/** Tests of a class to run. */
export interface SelectedTests {
  readonly classFqn: string
  /** Null for all tests of the class. */
  readonly methods: readonly string[] | null
  /** Folders and archives with a class of this name: modules may have classes with the same names. */
  readonly classFolders: readonly string[]
}

/** Annotations whose methods are tests; others prepare all tests of their class. */
const TESTS = new Set([
  'Test',
  'Theory',
  'TestFactory',
  'TestTemplate',
  'RepeatedTest',
  'ParameterizedTest',
  'Testable',
])

/**
 * Selects the tests that are affected. All tests of a class are selected if a method is affected that prepares
 * them, or that no code calls: a runner calls it, for example as a source of parameters.
 */
export function* selectTests(
  snapshot: Snapshot,
  code: ProjectCode,
  { reverse, roots, search }: { reverse: ReverseCalls; roots: readonly Root[]; search: ImpactSearch },
  isAffected: (root: Root) => boolean,
): Generator<void, readonly SelectedTests[]> {
  const tests = roots.filter(({ kind }) => kind === 'test')
  const classes = new Set(tests.map(({ classId }) => classId))
  const runMethods = new Set<number>()
  const whole = new Set<number>()
  const single = new Map<number, Set<string>>()
  for (const root of tests) {
    yield
    const [method = -1] = root.methods
    const isTest = TESTS.has(root.reason.slice(root.reason.lastIndexOf('.') + 1))
    if (isTest) runMethods.add(method)
    if (!isAffected(root)) continue
    if (!isTest) whole.add(root.classId)
    else single.set(root.classId, (single.get(root.classId) ?? new Set()).add(code.nameOf(method)))
  }
  for (const method of search.affected) {
    yield
    const classId = code.classOf(method)
    if (!classes.has(classId) || runMethods.has(method)) continue
    if (reverse.sites.of(method).length === 0 && code.initializerOf(classId) !== method) whole.add(classId)
  }
  const selection = new Map<string, Set<string> | null>()
  for (const classId of whole)
    for (const each of concrete(snapshot, classId)) {
      selection.set(snapshot.fqnOf(each), null)
      // Tests of nested classes are prepared by those around them.
      for (const other of classes)
        if (snapshot.fqnOf(other).startsWith(`${snapshot.fqnOf(each)}$`))
          selection.set(snapshot.fqnOf(other), null)
    }
  for (const [classId, names] of single)
    for (const each of concrete(snapshot, classId)) {
      const fqn = snapshot.fqnOf(each)
      const before = selection.get(fqn)
      if (before !== null) selection.set(fqn, new Set([...(before ?? []), ...names]))
    }
  const folders = yield* foldersOf(snapshot, selection)
  return Array.from(selection, ([classFqn, methods]) => ({
    classFqn,
    methods: methods === null ? null : [...methods].toSorted(),
    classFolders: [...(folders.get(classFqn) ?? [])],
  })).toSorted((a, b) => (a.classFqn < b.classFqn ? -1 : 1))
}

/** Returns the folders and archives of the project that contain classes, by their names. */
function* foldersOf(
  { index }: Snapshot,
  selection: ReadonlyMap<string, unknown>,
): Generator<void, ReadonlyMap<string, ReadonlySet<string>>> {
  const names = new Map<number, string>()
  for (const fqn of selection.keys()) {
    const name = index.names.find(toInternal(fqn))
    if (name !== undefined) names.set(name, fqn)
  }
  const found = new Map<string, Set<string>>()
  for (const { digest, source, location } of index.slices) {
    if (source !== 'PROJECT') continue
    for (const name of digest.classes.name) {
      yield
      const fqn = names.get(name)
      if (fqn !== undefined) found.set(fqn, (found.get(fqn) ?? new Set()).add(location))
    }
  }
  return found
}

/** Returns a class and its subclasses of which a runner can create objects. */
function concrete(snapshot: Snapshot, classId: number): readonly number[] {
  const below = allSubtypes(snapshot, snapshot.index.nameIdOf(classId)).keys()
  return [...new Set([classId, ...below])].filter((each) => {
    const { digest, firstClass, source } = snapshot.index.sliceOf(each)
    const flags = digest.classes.accessFlags[each - firstClass] ?? 0
    return source === 'PROJECT' && (flags & (ACC.ABSTRACT | ACC.INTERFACE)) === 0
  })
}
