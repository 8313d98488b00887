import { type AnnotationView, annotationsOn, annotationView } from './annotation-value.ts'
import { ACC } from '../../bytecode/access-flags.ts'
import { toFqn, toInternal } from '../names.ts'
import type { Snapshot } from '../snapshot.ts'
import { TARGET } from '../../bytecode/columns.ts'
import type { IndexedSlice } from '../../index/indexed-slice.ts'
import { lowerBound } from '../../index/lower-bound.ts'

/** An annotation on a class or member. */
interface AnnotationLocation {
  readonly slice: IndexedSlice
  /** Row in the slice's facts' annotations. */
  readonly row: number
  /** Class that contains it. */
  readonly id: number
  /** Annotated element, as in the facts. */
  readonly targetKind: number
  readonly target: number
}

/** Yields all annotations of a type, by the id of its name. */
function* locationsOf(snapshot: Snapshot, type: number): Generator<AnnotationLocation> {
  for (const slice of snapshot.index.slices) {
    const { annotations } = slice.digest
    for (const at of rowsOfType(slice, type)) {
      yield {
        slice,
        row: annotations.row[at] ?? 0,
        id: slice.firstClass + (annotations.class[at] ?? 0),
        targetKind: annotations.targetKind[at] ?? 0,
        target: annotations.target[at] ?? 0,
      }
    }
  }
}

function* rowsOfType({ digest: { annotations } }: IndexedSlice, type: number): Generator<number> {
  const first = lowerBound(0, annotations.count, (at) => (annotations.type[at] ?? 0) < type)
  for (let at = first; annotations.type[at] === type; at++) yield at
}

/**
 * Returns the annotation types that count as a given one: itself, and those annotated with it at any depth,
 * each with its path to the given one (the types after it). Cycles terminate (threat A5).
 */
function annotationClosure(snapshot: Snapshot, type: number): ReadonlyMap<number, readonly number[]> {
  const paths = new Map<number, readonly number[]>([[type, []]])
  let level = [type]
  while (level.length > 0) {
    const next: number[] = []
    for (const carried of level) {
      for (const { slice, id, targetKind } of locationsOf(snapshot, carried)) {
        const { digest, firstClass } = slice
        const isAnnotation = ((digest.classes.accessFlags[id - firstClass] ?? 0) & ACC.ANNOTATION) !== 0
        if (!isAnnotation || snapshot.index.isHidden(id)) continue
        if (targetKind !== TARGET.CLASS) continue
        const name = snapshot.index.nameIdOf(id)
        if (paths.has(name) || isLanguageAnnotation(snapshot, name)) continue
        paths.set(name, [carried, ...(paths.get(carried) ?? [])])
        next.push(name)
      }
    }
    level = next
  }
  return paths
}

/**
 * `@Documented`, `@Retention` and similar annotations are on nearly every annotation type and say nothing
 * about annotated classes.
 */
function isLanguageAnnotation(snapshot: Snapshot, name: number): boolean {
  return toFqn(snapshot.index.names.get(name)).startsWith('java.lang.annotation.')
}

/** An annotation that counts as the given one. */
interface MatchingAnnotation extends AnnotationLocation {
  /** Types from the written one to the given one; empty if they are the same. */
  readonly path: readonly number[]
  /** The written annotation, if `row` is the container of repeated annotations. */
  readonly repeated?: AnnotationView
}

/**
 * Yields all annotations of a type and of types annotated with it. Repeated ones are yielded individually.
 */
export function* matchingAnnotations(snapshot: Snapshot, type: number): Generator<MatchingAnnotation> {
  for (const [each, path] of annotationClosure(snapshot, type)) {
    for (const location of locationsOf(snapshot, each)) yield { ...location, path }
    const container = containerOf(snapshot, each)
    if (container === undefined) continue
    const fqn = toFqn(snapshot.index.names.get(each))
    for (const location of locationsOf(snapshot, container)) {
      const value = annotationView(snapshot.facts(location.slice), location.row).parameters['value']
      for (const item of value?.kind === 'ARRAY' ? value.items : []) {
        if (item.kind === 'ANNOTATION' && item.annotation.type === fqn)
          yield { ...location, path, repeated: item.annotation }
      }
    }
  }
}

/** Returns the container of repeated annotations of a type (JLS §9.6.3). */
function containerOf(snapshot: Snapshot, type: number): number | undefined {
  const id = snapshot.index.findByNameId(type)
  if (id === undefined) return undefined
  const slice = snapshot.index.sliceOf(id)
  const facts = snapshot.facts(slice)
  const row = id - slice.firstClass
  for (const each of annotationsOn(facts, row, TARGET.CLASS, row)) {
    const { type: carried, parameters } = annotationView(facts, each)
    const value = parameters['value']
    if (carried === 'java.lang.annotation.Repeatable' && value?.kind === 'CLASS')
      return snapshot.index.names.find(toInternal(value.value))
  }
  return undefined
}
