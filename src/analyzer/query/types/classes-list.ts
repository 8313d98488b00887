import { matchingAnnotations } from '../annotations/annotation-closure.ts'
import { ACC } from '../../bytecode/access-flags.ts'
import { classSummary, type ClassSummary } from './class-summary.ts'
import { classNameTest, packageTest } from '../name-tests.ts'
import { filterIds } from '../filter-ids.ts'
import { type Page, pageOf, type Paging } from '../paging.ts'
import type { Snapshot } from '../snapshot.ts'
import { allSubtypes } from './subtypes.ts'
import { TARGET } from '../../bytecode/columns.ts'
import { USE } from '../../index/digest.ts'

/** Filter of classes. */
export interface ClassFilter {
  /** Patterns with `*`. */
  readonly package?: string | undefined
  readonly name?: string | undefined
  /** Annotation on the class, directly or as a meta-annotation. */
  readonly annotation?: string | undefined
  /** Superclass, at any depth. */
  readonly extends?: string | undefined
  /** Interface, at any depth. */
  readonly implements?: string | undefined
  readonly interfacesOnly: boolean
  readonly includeLibraries: boolean
}

/** Returns the classes that match a filter, sorted by name. */
export function listClasses(snapshot: Snapshot, filter: ClassFilter, paging: Paging): Page<ClassSummary> {
  const passed = testsOf(snapshot, filter).reduce(filterIds, snapshot.classes(filter.includeLibraries))
  return pageOf(passed, paging, (id) => classSummary(snapshot, id))
}

/** Returns the tests of a filter, cheap ones first. */
function testsOf(snapshot: Snapshot, filter: ClassFilter): readonly ((id: number) => boolean)[] {
  const tests: ((id: number) => boolean)[] = []
  if (filter.interfacesOnly) tests.push((id) => isInterface(snapshot, id))
  if (filter.annotation !== undefined) {
    const carrying = classesWith(snapshot, filter.annotation)
    tests.push((id) => carrying.has(id))
  }
  if (filter.extends !== undefined) {
    const below = allSubtypes(snapshot, snapshot.findType(filter.extends), [USE.EXTENDS])
    tests.push((id) => below.has(id))
  }
  if (filter.implements !== undefined) {
    const below = allSubtypes(snapshot, snapshot.findType(filter.implements), [USE.IMPLEMENTS])
    tests.push((id) => below.has(id))
  }
  if (filter.package !== undefined) {
    const fits = packageTest(snapshot, filter.package)
    tests.push((id) => fits(snapshot.index.nameIdOf(id)))
  }
  if (filter.name !== undefined) {
    const fits = classNameTest(snapshot, filter.name)
    tests.push((id) => fits(snapshot.index.nameIdOf(id)))
  }
  return tests
}

/** Returns the classes with an annotation, directly or as a meta-annotation. */
function classesWith(snapshot: Snapshot, annotation: string): ReadonlySet<number> {
  const found = new Set<number>()
  const type = snapshot.findType(annotation)
  if (type === undefined) return found
  for (const { id, targetKind } of matchingAnnotations(snapshot, type)) {
    if (targetKind === TARGET.CLASS) found.add(id)
  }
  return found
}

/** Whether a class is an interface. For the JVM package-info is one too, marked as synthetic. */
function isInterface(snapshot: Snapshot, id: number): boolean {
  const { digest, firstClass } = snapshot.index.sliceOf(id)
  return (
    ((digest.classes.accessFlags[id - firstClass] ?? 0) & (ACC.INTERFACE | ACC.SYNTHETIC)) === ACC.INTERFACE
  )
}
