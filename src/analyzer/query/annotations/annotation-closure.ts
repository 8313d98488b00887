import { type AnnotationView, annotationsOn, annotationView } from './annotation-value.ts'
import { ACC } from '../../bytecode/access-flags.ts'
import { toFqn, toInternal } from '../names.ts'
import type { Snapshot } from '../snapshot.ts'
import { TARGET } from '../../bytecode/columns.ts'
import type { IndexedSlice } from '../../index/indexed-slice.ts'
import { lowerBound } from '../../index/lower-bound.ts'

/** One annotation on a class or a member. */
interface AnnotationLocation {
  readonly slice: IndexedSlice
  /** Row in the slice's facts' annotations. */
  readonly row: number
  /** The class that it stands in. */
  readonly id: number
  /** What it stands on, as in the facts. */
  readonly targetKind: number
  readonly target: number
}

/** Every place where an annotation type is written, by the id of its name. */
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
 * The annotation types that count as a given one: itself, and those that carry it, at any depth, each with the way from
 * it to the given one (the types after it). Circles end (threat A5).
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
        if (paths.has(name) || isOfTheLanguage(snapshot, name)) continue
        paths.set(name, [carried, ...(paths.get(carried) ?? [])])
        next.push(name)
      }
    }
    level = next
  }
  return paths
}

/** `@Documented`, `@Retention` and their like stand on nearly every annotation, and mean nothing for what carries that. */
function isOfTheLanguage(snapshot: Snapshot, name: number): boolean {
  return toFqn(snapshot.index.names.get(name)).startsWith('java.lang.annotation.')
}

/** A place where an annotation counts as the one asked for. */
interface MatchingAnnotation extends AnnotationLocation {
  /** From the one that is written to the one asked for; empty for itself. */
  readonly path: readonly number[]
  /** The one that is written, where the row is that of the container of a repeated one. */
  readonly repeated?: AnnotationView
}

/** Every place where an annotation stands, or one that carries it, the repeated ones one by one. */
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

/** The annotation that the compiler puts repeated ones into (JLS §9.6.3). */
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
