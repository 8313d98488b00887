import type { Facts } from '../bytecode/facts.ts'
import type { IndexedSlice } from '../index/indexed-slice.ts'
import type { Source } from '../classpath/source.ts'
import type { ProjectIndex } from '../index/project-index.ts'
import { fault } from '../errors.ts'
import { jdkInternals } from './jdk-internals.ts'
import { toFqn } from './names.ts'
import { suggestion, nestings, similarClasses, typesEnding } from './similar-names.ts'

const MAX_CANDIDATES = 10

/** Immutable view of a project for queries, as of one scan. */
export class Snapshot {
  readonly index: ProjectIndex
  readonly #facts: (key: string) => Facts
  /** Made for the first name that no class has: it reads the descriptors of the JDK's modules. */
  #isJdkInternal: ((classId: number) => boolean) | undefined

  /** @param facts returns the facts of a slice; throws when they no longer exist */
  constructor(index: ProjectIndex, facts: (key: string) => Facts) {
    this.index = index
    this.#facts = facts
  }

  /** Returns the facts of a slice. @throws as the constructor's `facts` */
  facts({ key }: IndexedSlice): Facts {
    return this.#facts(key)
  }

  /** Returns a class by a name in source notation, as `findType` does. @throws CLASS_NOT_FOUND */
  getClass(fqn: string): number {
    const name = this.getType(fqn)
    const id = this.index.findByNameId(name)
    if (id !== undefined) return id
    throw fault(
      'CLASS_NOT_FOUND',
      `class "${toFqn(this.index.names.get(name))}" is mentioned in class files, but is not on the class path`,
    )
  }

  /** Returns the id of a type's name, even if class files only mention it. @throws CLASS_NOT_FOUND */
  getType(fqn: string): number {
    const name = this.findType(fqn)
    if (name !== undefined) return name
    this.#isJdkInternal ??= jdkInternals(this.index, (slice) => this.facts(slice))
    const similar = suggestion(similarClasses(this.index, fqn, this.#isJdkInternal))
    throw fault(
      'CLASS_NOT_FOUND',
      `class "${fqn}" is not in the project, its libraries or its JDK, and no class mentions it${similar}`,
    )
  }

  /**
   * Returns the id of a type's name in source notation: `Map.Entry` is `Map$Entry`, and a name without
   * package is the only type with that name in the project, or elsewhere if the project has none.
   *
   * @throws CLASS_NOT_FOUND when several types have the name
   */
  findType(fqn: string): number | undefined {
    const id = this.findClass(fqn)
    if (id !== undefined) return this.index.nameIdOf(id)
    const named = nestings(fqn)
      .map((each) => this.index.names.find(each))
      .find((name) => name !== undefined && this.index.isUsed(name))
    if (named !== undefined) return named
    const [only, ...others] = typesEnding(this.index, fqn)
    if (only === undefined || others.length === 0) return only
    const candidates = [only, ...others.slice(0, MAX_CANDIDATES - 1)].map((name) =>
      toFqn(this.index.names.get(name)),
    )
    const more = others.length + 1 - candidates.length
    throw fault(
      'CLASS_NOT_FOUND',
      `"${fqn}" is ambiguous, ${others.length + 1} classes have this name: ${candidates.join(', ')}${more > 0 ? ` and ${more} more` : ''}`,
    )
  }

  /** Returns a class by its full name; `Map.Entry` finds `Map$Entry`. */
  findClass(fqn: string): number | undefined {
    for (const name of nestings(fqn)) {
      const id = this.index.find(name)
      if (id !== undefined) return id
    }
    return undefined
  }

  /** Returns the origin of a class. */
  sourceOf(id: number): Source {
    return this.index.sliceOf(id).source
  }

  /** Returns the full name of a class. */
  fqnOf(id: number): string {
    return toFqn(this.index.nameOf(id))
  }

  /** Returns the classes to search, sorted by name: those that a person wrote. */
  classes(includeLibraries: boolean): Int32Array {
    return includeLibraries ? this.index.writtenByName() : this.index.writtenOfProject()
  }

  /**
   * Fails if the project has no class: an answer about nothing would read as "nothing is wrong".
   *
   * @throws NO_CLASSES
   */
  requireClasses(): void {
    if (this.index.ofProject().length > 0) return
    throw fault(
      'NO_CLASSES',
      'no class of the project was read, so nothing is known about its code; compile it and run "analyzer refresh", or name its class folders with "analyzer restart --classes DIR"',
    )
  }

  /** Whether a class is included: project classes always, others with `includeLibraries`. */
  counts(id: number, includeLibraries: boolean): boolean {
    return includeLibraries || this.sourceOf(id) === 'PROJECT'
  }
}
