import { ACC } from '../../bytecode/access-flags.ts'
import { simpleNameOf, toFqn } from '../names.ts'
import type { Snapshot } from '../snapshot.ts'
import { sortInTurns } from '../sort-in-turns.ts'
import { directSubtypes, supertypesOf } from './subtypes.ts'

/** A class in its hierarchy. A class that is not on the class path has only a name. */
export interface HierarchyNode {
  readonly classFqn: string
  readonly simpleName: string
  readonly source: string
  readonly isInterface: boolean
  readonly parent: HierarchyNode | null
  readonly interfaces: readonly HierarchyNode[]
  readonly children: readonly HierarchyNode[]
}

/** Interfaces can be reached on more paths than there are classes: two on each of 30 levels make 2^30. */
const MAX_NODES = 200_000
const NODES_A_PAUSE = 64
/** Deeper than any real hierarchy. */
const MAX_DEPTH = 1_000

/** A class with all its supertypes and subtypes. */
export interface Hierarchy {
  readonly targetClass: string
  readonly hierarchy: HierarchyNode
  /** Present if it has more nodes or levels than an answer. */
  readonly isCut?: true
}

/** Finds a class with all its supertypes and subtypes. @throws CLASS_NOT_FOUND */
export function* hierarchyOf(snapshot: Snapshot, fqn: string): Generator<void, Hierarchy> {
  const name = snapshot.getType(fqn)
  const walk = new HierarchyWalk(snapshot)
  const up = walk.above(name)
  const hierarchy = { ...up, children: yield* walk.below(name) }
  return { targetClass: up.classFqn, hierarchy, ...(walk.isCut && { isCut: true }) }
}

class HierarchyWalk {
  readonly #snapshot: Snapshot
  /** Names between the current class and the target; detects cycles (threat A5). */
  readonly #path = new Set<number>()
  #nodes = 0
  /** Whether the result is truncated. */
  isCut = false

  constructor(snapshot: Snapshot) {
    this.#snapshot = snapshot
  }

  above(name: number): HierarchyNode {
    const id = this.#snapshot.index.findByNameId(name)
    const self = describe(this.#snapshot, name, id)
    const alone = { ...self, parent: null, interfaces: [], children: [] }
    if (id === undefined || !this.#enter(name)) return alone
    const { superclass, interfaces } = supertypesOf(this.#snapshot, id)
    // Class files declare Object as the superclass of interfaces; in Java they have none.
    const isRoot = superclass === undefined || self.isInterface || this.#path.has(superclass)
    const node = {
      ...alone,
      parent: isRoot ? null : this.above(superclass),
      interfaces: interfaces.filter((each) => !this.#path.has(each)).map((each) => this.above(each)),
    }
    this.#path.delete(name)
    return node
  }

  *below(name: number): Generator<void, readonly HierarchyNode[]> {
    const { index } = this.#snapshot
    if (!this.#enter(name)) return []
    const children: HierarchyNode[] = []
    for (const child of directSubtypes(this.#snapshot, name)) {
      const childName = index.nameIdOf(child)
      if (this.#path.has(childName) || index.isMade(child)) continue
      const self = describe(this.#snapshot, childName, child)
      children.push({ ...self, parent: null, interfaces: [], children: yield* this.below(childName) })
    }
    this.#path.delete(name)
    // The chain of generators is as long as the path, so not every node pauses.
    if (this.#nodes % NODES_A_PAUSE === 0) yield
    return yield* sortInTurns(children, ({ classFqn }) => classFqn)
  }

  #enter(name: number): boolean {
    if (this.#nodes >= MAX_NODES || this.#path.size >= MAX_DEPTH) {
      this.isCut = true
      return false
    }
    this.#nodes++
    this.#path.add(name)
    return true
  }
}

function describe(snapshot: Snapshot, name: number, id: number | undefined) {
  const classFqn = toFqn(snapshot.index.names.get(name))
  const simpleName = simpleNameOf(classFqn)
  if (id === undefined) return { classFqn, simpleName, source: 'UNKNOWN', isInterface: false }
  const { digest, firstClass, source } = snapshot.index.sliceOf(id)
  const isInterface = ((digest.classes.accessFlags[id - firstClass] ?? 0) & ACC.INTERFACE) !== 0
  return { classFqn, simpleName, source, isInterface }
}
