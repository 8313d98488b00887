import type { Facts } from '../bytecode/facts.ts'
import type { IndexedSlice } from '../index/indexed-slice.ts'
import type { Source } from '../classpath/source.ts'
import type { ProjectIndex } from '../index/project-index.ts'
import { fault } from '../errors.ts'
import { toFqn, toInternal } from './names.ts'

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

  /** A class by the name people write; `Map.Entry` finds `Map$Entry`. @throws CLASS_NOT_FOUND */
  getClass(fqn: string): number {
    const id = this.findClass(fqn)
    if (id === undefined)
      throw fault('CLASS_NOT_FOUND', `class "${fqn}" is not in the project, its libraries or its JDK`)
    return id
  }

  findClass(fqn: string): number | undefined {
    let name = toInternal(fqn)
    for (;;) {
      const id = this.index.find(name)
      const slash = name.lastIndexOf('/')
      if (id !== undefined || slash === -1) return id
      name = `${name.slice(0, slash)}$${name.slice(slash + 1)}`
    }
  }

  /** The id of a type's name as people write it, of one that is only named in class files too. */
  findName(fqn: string): number | undefined {
    const id = this.findClass(fqn)
    return id === undefined ? this.index.names.find(toInternal(fqn)) : this.index.nameIdOf(id)
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
