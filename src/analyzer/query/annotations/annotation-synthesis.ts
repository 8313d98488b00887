import { TARGET } from '../../bytecode/columns.ts'
import {
  type AnnotationView,
  annotationsOn,
  annotationView,
  type ValueView,
  valueView,
} from './annotation-value.ts'
import { rows } from '../../bytecode/facts.ts'
import { toFqn } from '../names.ts'
import type { Snapshot } from '../snapshot.ts'
import { typesOfMethod } from '../names.ts'

const ALIAS_FOR = 'org.springframework.core.annotation.AliasFor'

interface Attribute {
  readonly name: string
  readonly isArray: boolean
  readonly default: ValueView | undefined
  /** From @AliasFor: the annotation, undefined for its own type, and the attribute there. */
  readonly alias: { readonly annotation: string | undefined; readonly attribute: string } | undefined
}

/** Attributes and meta-annotations of an annotation type. */
interface AnnotationType {
  readonly attributes: readonly Attribute[]
  /** Meta-annotations by dotted type. */
  readonly carried: ReadonlyMap<string, AnnotationView>
}

/**
 * Synthesizes the attributes of meta-annotations according to Spring's @AliasFor
 * (https://docs.spring.io/spring-framework/docs/current/javadoc-api/org/springframework/core/annotation/AliasFor.html),
 * including overrides by equal names, which Spring supports up to version 6.
 */
export class AnnotationSynthesis {
  readonly #snapshot: Snapshot
  readonly #types = new Map<string, AnnotationType | undefined>()

  constructor(snapshot: Snapshot) {
    this.#snapshot = snapshot
  }

  /**
   * Returns a written annotation as an annotation of the type at the end of a path.
   *
   * @param path dotted names of the types after the written one; empty for the annotation itself
   */
  along(written: AnnotationView, path: readonly string[]): AnnotationView {
    let seen = { type: written.type, parameters: this.#complete(written.type, written.parameters) }
    /** Visited types with their values: an alias may skip some. */
    const passed = [seen]
    for (const next of path) {
      const declared = this.#typeOf(seen.type)?.carried.get(next)?.parameters ?? {}
      const parameters = { ...this.#complete(next, declared) }
      for (const from of passed) Object.assign(parameters, this.#overrides(from, next))
      seen = { type: next, parameters: this.#mirror(next, parameters, parameters) }
      passed.push(seen)
    }
    return seen
  }

  /** Adds defaults and the mirrors of written values. */
  #complete(type: string, written: Readonly<Record<string, ValueView>>): Readonly<Record<string, ValueView>> {
    const values: Record<string, ValueView> = {}
    for (const { name, default: value } of this.#typeOf(type)?.attributes ?? []) {
      if (value !== undefined) values[name] = value
    }
    return this.#mirror(type, { ...values, ...written }, written)
  }

  /** Gives attributes that are aliases of each other the value of the one that is set. */
  #mirror(
    type: string,
    values: Readonly<Record<string, ValueView>>,
    set: Readonly<Record<string, ValueView>>,
  ): Readonly<Record<string, ValueView>> {
    const mirrored = { ...values }
    const attributes = this.#typeOf(type)?.attributes ?? []
    for (const one of attributes) {
      for (const other of attributes) {
        const value = set[one.name]
        if (one === other || value === undefined) continue
        if (this.#meaning(type, one) !== this.#meaning(type, other)) continue
        const isSetToo = set[other.name] !== undefined && set !== values
        const isDefault = same(value, one.default)
        if (!isSetToo && !isDefault) mirrored[other.name] = value
      }
    }
    return mirrored
  }

  /** Returns the values that a type's attributes override in an annotation later in the path. */
  #overrides(from: AnnotationView, to: string): Readonly<Record<string, ValueView>> {
    const values: Record<string, ValueView> = {}
    const targets = this.#typeOf(to)?.attributes ?? []
    for (const { name, alias } of this.#typeOf(from.type)?.attributes ?? []) {
      const value = from.parameters[name]
      const isByName = alias === undefined && name !== 'value'
      const attribute = alias?.annotation === to ? alias.attribute : isByName ? name : undefined
      const target = targets.find((each) => each.name === attribute)
      if (value === undefined || target === undefined) continue
      values[target.name] =
        target.isArray && value.kind !== 'ARRAY' ? { kind: 'ARRAY', items: [value] } : value
    }
    return values
  }

  /**
   * Returns the attribute at the end of an attribute's aliases; attributes with the same result mirror each
   * other. Of two that refer to each other it is the first by name.
   */
  #meaning(type: string, attribute: Attribute, passed: readonly Attribute[] = []): string {
    const { name, alias } = attribute
    const own = `${type}#${name}`
    // Spring rejects cyclic aliases, but they must not loop here.
    if (alias === undefined || passed.includes(attribute)) return own
    const there = alias.annotation ?? type
    const target = this.#typeOf(there)?.attributes.find((each) => each.name === alias.attribute)
    if (there !== type) {
      return target === undefined
        ? `${there}#${alias.attribute}`
        : this.#meaning(there, target, [...passed, attribute])
    }
    const isNamedBack = target?.alias?.attribute === name && (target.alias.annotation ?? type) === type
    return isNamedBack && alias.attribute < name ? `${type}#${alias.attribute}` : own
  }

  #typeOf(fqn: string): AnnotationType | undefined {
    if (!this.#types.has(fqn)) this.#types.set(fqn, this.#readType(fqn))
    return this.#types.get(fqn)
  }

  #readType(fqn: string): AnnotationType | undefined {
    const id = this.#snapshot.findClass(fqn)
    if (id === undefined) return undefined
    const slice = this.#snapshot.index.sliceOf(id)
    const facts = this.#snapshot.facts(slice)
    const row = id - slice.firstClass
    const { classes, methods, annotations, strings } = facts
    const carried = annotationsOn(facts, row, TARGET.CLASS, row).map((each) => annotationView(facts, each))
    const attributes = rows(classes.firstMethod, row).map((method): Attribute => {
      const name = strings.get(methods.name[method] ?? 0)
      const [defaultRow] = annotationsOn(facts, row, TARGET.ANNOTATION_DEFAULT, method)
      const element = defaultRow === undefined ? undefined : annotations.elementStart[defaultRow]
      const aliasFor = annotationsOn(facts, row, TARGET.METHOD, method)
        .filter((each) => toFqn(strings.get(annotations.type[each] ?? 0)) === ALIAS_FOR)
        .map((each) => annotationView(facts, each).parameters)[0]
      return {
        name,
        isArray: typesOfMethod(strings.get(methods.descriptor[method] ?? 0)).returns.endsWith('[]'),
        default: element === undefined ? undefined : valueView(facts, element),
        alias: aliasFor === undefined ? undefined : aliasOf(name, aliasFor),
      }
    })
    return { attributes, carried: new Map(carried.map((each) => [each.type, each])) }
  }
}

function aliasOf(
  name: string,
  parameters: Readonly<Record<string, ValueView>>,
): NonNullable<Attribute['alias']> {
  const annotation = textOf(parameters['annotation'])
  return {
    annotation: annotation === 'java.lang.annotation.Annotation' ? undefined : annotation,
    attribute: textOf(parameters['attribute']) ?? textOf(parameters['value']) ?? name,
  }
}

function textOf(value: ValueView | undefined): string | undefined {
  return value !== undefined && 'value' in value && value.value !== '' ? value.value : undefined
}

function same(a: ValueView, b: ValueView | undefined): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
