import { rows } from '../../bytecode/facts.ts'
import { USE } from '../../index/digest.ts'
import type { Snapshot } from '../snapshot.ts'
import { allSubtypes, supertypesOf } from '../types/subtypes.ts'

/** A class that calls methods declared by a type. */
interface DeclaredCalls {
  readonly id: number
  /** Rows in the facts' calls. */
  readonly calls: ReadonlySet<number>
}

/**
 * Returns the classes that call methods declared by a type, on any subtype named in the bytecode. Methods are
 * resolved like the JVM does (JVMS §5.4.3.3): in superclasses first, then in interfaces.
 *
 * @param type id of its name
 */
export function declaredReceivers(
  snapshot: Snapshot,
  type: number,
  isWanted: (id: number) => boolean,
): readonly DeclaredCalls[] {
  const { index } = snapshot
  const declarations = new Declarations(snapshot)
  const owners = [type, ...Array.from(allSubtypes(snapshot, type).keys(), (id) => index.nameIdOf(id))]
  const callers = new Set<number>()
  for (const owner of owners)
    for (const { id, kind } of index.usesOf(owner))
      if (kind === USE.CALL_RECEIVER && isWanted(id)) callers.add(id)
  return Array.from(callers, (id) => {
    const slice = index.sliceOf(id)
    const { classes, methods, calls, strings } = snapshot.facts(slice)
    const found = rows(classes.firstMethod, id - slice.firstClass)
      .flatMap((method) => rows(methods.firstCall, method))
      .filter((at) => {
        const owner = index.names.find(strings.get(calls.owner[at] ?? 0))
        const name = strings.get(calls.name[at] ?? 0)
        const signature = name + strings.get(calls.descriptor[at] ?? 0)
        return owner !== undefined && name !== '<init>' && declarations.of(owner, signature) === type
      })
    return { id, calls: new Set(found) }
  }).filter(({ calls }) => calls.size > 0)
}

/** Resolves called methods to the classes that declare them. */
class Declarations {
  readonly #snapshot: Snapshot
  readonly #methods = new Map<number, ReadonlySet<string>>()
  readonly #cache = new Map<string, number | undefined>()

  constructor(snapshot: Snapshot) {
    this.#snapshot = snapshot
  }

  /** Returns the declaring type, or undefined if it is not on the class path. Types are ids of names. */
  of(owner: number, signature: string): number | undefined {
    const key = `${owner} ${signature}`
    if (!this.#cache.has(key))
      this.#cache.set(key, this.#inClasses(owner, signature) ?? this.#inInterfaces(owner, signature))
    return this.#cache.get(key)
  }

  #inClasses(owner: number, signature: string): number | undefined {
    for (const type of this.#superclasses(owner)) if (this.#declaredIn(type).has(signature)) return type
    return undefined
  }

  #inInterfaces(owner: number, signature: string): number | undefined {
    const seen = new Set<number>()
    let level = this.#superclasses(owner)
    while (level.length > 0) {
      level = level.flatMap((type) => this.#supertypes(type).interfaces).filter((type) => !seen.has(type))
      for (const type of level) {
        if (this.#declaredIn(type).has(signature)) return type
        seen.add(type)
      }
    }
    return undefined
  }

  /** Returns a class and its superclasses. Class files can form a cycle (threat A5). */
  #superclasses(owner: number): readonly number[] {
    const chain: number[] = []
    for (let type: number | undefined = owner; type !== undefined && !chain.includes(type);) {
      chain.push(type)
      type = this.#supertypes(type).superclass
    }
    return chain
  }

  #supertypes(type: number): ReturnType<typeof supertypesOf> {
    const id = this.#snapshot.index.findByNameId(type)
    return id === undefined ? { superclass: undefined, interfaces: [] } : supertypesOf(this.#snapshot, id)
  }

  #declaredIn(type: number): ReadonlySet<string> {
    let found = this.#methods.get(type)
    if (found === undefined) {
      found = new Set(this.#read(type))
      this.#methods.set(type, found)
    }
    return found
  }

  #read(type: number): readonly string[] {
    const id = this.#snapshot.index.findByNameId(type)
    if (id === undefined) return []
    const slice = this.#snapshot.index.sliceOf(id)
    const { classes, methods, strings } = this.#snapshot.facts(slice)
    return rows(classes.firstMethod, id - slice.firstClass).map(
      (method) => strings.get(methods.name[method] ?? 0) + strings.get(methods.descriptor[method] ?? 0),
    )
  }
}
