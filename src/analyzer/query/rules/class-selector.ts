import { ACC } from '../../bytecode/access-flags.ts'
import { TARGET, TRAIT } from '../../bytecode/columns.ts'
import { matchingAnnotations } from '../annotations/annotation-closure.ts'
import { simpleNameOf, toFqn, toInternal } from '../names.ts'
import type { Snapshot } from '../snapshot.ts'
import { allSubtypes } from '../types/subtypes.ts'
import { ClassPattern } from './class-pattern.ts'
import { type CLASS_KINDS, listOf, type PatternSpec, type SelectorSpec } from './rule-set.ts'

/** A test of a type, by the id of its name; results are cached. */
export type TypeTest = (name: number) => boolean

/** Creates tests of types from the selectors of a rule set. */
export class Selectors {
  readonly #snapshot: Snapshot

  constructor(snapshot: Snapshot) {
    this.#snapshot = snapshot
  }

  /** Returns a test of a selector; all types pass if it is undefined. */
  of(spec: SelectorSpec | undefined): TypeTest {
    if (spec === undefined) return () => true
    if (typeof spec === 'string' || Array.isArray(spec)) return this.#cached(this.#byName(spec))
    const { classes, named, annotatedWith, subtypesOf, kind, except } = spec
    const tests = [
      ...(classes === undefined ? [] : [this.#byName(classes)]),
      ...(named === undefined ? [] : [this.bySimpleName(named)]),
      ...(annotatedWith === undefined ? [] : [this.annotatedWith(annotatedWith)]),
      ...(subtypesOf === undefined ? [] : [this.subtypesOf(subtypesOf)]),
      ...(kind === undefined ? [] : [this.#ofKind(kind)]),
    ]
    const isExcepted = except === undefined ? () => false : this.#byName(except)
    return this.#cached((name) => tests.every((test) => test(name)) && !isExcepted(name))
  }

  /** Returns a test of full names. */
  byName(spec: PatternSpec): TypeTest {
    return this.#cached(this.#byName(spec))
  }

  /** Returns a test of simple names. */
  bySimpleName(spec: PatternSpec): TypeTest {
    const patterns = listOf(spec).map((pattern) => new ClassPattern(pattern))
    return (name) => patterns.some((pattern) => pattern.matches(simpleNameOf(this.#fqnOf(name))))
  }

  /** Returns a test of classes with one of some annotations, directly or as a meta-annotation. */
  annotatedWith(spec: PatternSpec): TypeTest {
    const found = new Set<number>()
    const { index } = this.#snapshot
    for (const annotation of this.typesNamed(spec))
      for (const { id, targetKind } of matchingAnnotations(this.#snapshot, annotation))
        if (targetKind === TARGET.CLASS && !index.isHidden(id)) found.add(index.nameIdOf(id))
    return (name) => found.has(name)
  }

  /** Returns a test of proper subtypes of one of some types. */
  subtypesOf(spec: PatternSpec): TypeTest {
    const found = new Set<number>()
    for (const type of this.typesNamed(spec))
      for (const id of allSubtypes(this.#snapshot, type).keys()) found.add(this.#snapshot.index.nameIdOf(id))
    return (name) => found.has(name)
  }

  /** Returns the types with some full names; those that no class file mentions are omitted. */
  typesNamed(spec: PatternSpec): readonly number[] {
    return listOf(spec).flatMap((fqn) => this.#snapshot.index.names.find(toInternal(fqn)) ?? [])
  }

  #byName(spec: PatternSpec): TypeTest {
    const patterns = listOf(spec).map((pattern) => new ClassPattern(pattern))
    return (name) => patterns.some((pattern) => pattern.matches(this.#fqnOf(name)))
  }

  #ofKind(kind: (typeof CLASS_KINDS)[number]): TypeTest {
    const { index } = this.#snapshot
    return (name) => {
      const id = index.findByNameId(name)
      if (id === undefined) return false
      const { digest, firstClass } = index.sliceOf(id)
      const flags = digest.classes.accessFlags[id - firstClass] ?? 0
      const isRecord = ((digest.classes.traits[id - firstClass] ?? 0) & TRAIT.RECORD) !== 0
      return kindOf(flags, isRecord) === kind
    }
  }

  #fqnOf(name: number): string {
    return toFqn(this.#snapshot.index.names.get(name))
  }

  #cached(test: TypeTest): TypeTest {
    const results = new Int8Array(this.#snapshot.index.names.count)
    return (name) => {
      if (results[name] === 0) results[name] = test(name) ? 1 : -1
      return results[name] === 1
    }
  }
}

function kindOf(flags: number, isRecord: boolean): (typeof CLASS_KINDS)[number] {
  if ((flags & ACC.ANNOTATION) !== 0) return 'annotation'
  if ((flags & ACC.INTERFACE) !== 0) return 'interface'
  if ((flags & ACC.ENUM) !== 0) return 'enum'
  return isRecord ? 'record' : 'class'
}
