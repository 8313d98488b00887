import type { Facts } from '../bytecode/facts.ts'
import type { IndexedSlice } from '../index/indexed-slice.ts'
import type { Source } from '../classpath/source.ts'
import type { ProjectIndex } from '../index/project-index.ts'
import { fault } from '../errors.ts'
import { toFqn } from './names.ts'
import { suggestion, nestings, similarClasses, typesEnding } from './similar-names.ts'

const MAX_CANDIDATES = 10

/** A project as one scan saw it: what all queries read. */
export class Snapshot {
  readonly index: ProjectIndex
  readonly #facts: (key: string) => Facts

  /** @param facts those of a slice; throws when they are not there any more */
  constructor(index: ProjectIndex, facts: (key: string) => Facts) {
    this.index = index
    this.#facts = facts
  }

  /** @throws as the constructor's `facts` */
  facts({ key }: IndexedSlice): Facts {
    return this.#facts(key)
  }

  /** Returns a class by the name people write, as `findType` does. @throws CLASS_NOT_FOUND */
  getClass(fqn: string): number {
    const name = this.getType(fqn)
    const id = this.index.findByNameId(name)
    if (id !== undefined) return id
    throw fault(
      'CLASS_NOT_FOUND',
      `class "${toFqn(this.index.names.get(name))}" is named in class files, but is in no folder or archive of the class path`,
    )
  }

  /** Returns the id of a type's name, also of one that class files only name. @throws CLASS_NOT_FOUND */
  getType(fqn: string): number {
    const name = this.findType(fqn)
    if (name !== undefined) return name
    const similar = suggestion(similarClasses(this.index, fqn))
    throw fault(
      'CLASS_NOT_FOUND',
      `class "${fqn}" is not in the project, its libraries or its JDK, and none of their classes names it${similar}`,
    )
  }

  /**
   * Returns the id of a type's name as people write it: `Map.Entry` is `Map$Entry`, and a name without its package is the only
   * type of that name, where there is just one in the project, or none there and one elsewhere.
   *
   * @throws CLASS_NOT_FOUND where several types have the name
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
      `"${fqn}" is the name of ${others.length + 1} classes: ${candidates.join(', ')}${more > 0 ? ` and ${more} more` : ''}`,
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

  sourceOf(id: number): Source {
    return this.index.sliceOf(id).source
  }

  fqnOf(id: number): string {
    return toFqn(this.index.nameOf(id))
  }

  /** The classes that count, by name. */
  classes(includeLibraries: boolean): Int32Array {
    return includeLibraries ? this.index.byName() : this.index.ofProject()
  }

  /** Whether a class counts: project classes do, others where libraries are asked for too. */
  counts(id: number, includeLibraries: boolean): boolean {
    return includeLibraries || this.sourceOf(id) === 'PROJECT'
  }
}
