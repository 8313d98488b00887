import { ACC } from './class-summary.ts'
import { compare } from './implementations.ts'
import { simpleNameOf, toFqn } from './names.ts'
import type { Snapshot } from './snapshot.ts'
import { directSubtypes, supertypesOf } from './subtypes.ts'

/** A class in its hierarchy. One that is not on the class path has its name alone. */
export interface HierarchyNode {
  readonly classFqn: string
  readonly simpleName: string
  readonly source: string
  readonly isInterface: boolean
  readonly parent: HierarchyNode | null
  readonly interfaces: readonly HierarchyNode[]
  readonly children: readonly HierarchyNode[]
}

/** A class with all that is above it and all that is below it. Throws CLASS_NOT_FOUND. */
export function hierarchyOf(snapshot: Snapshot, fqn: string) {
  const id = snapshot.getClass(fqn)
  const way = new Set([snapshot.index.nameIdOf(id)])
  const up = above(snapshot, snapshot.index.nameIdOf(id), way)
  return { targetClass: snapshot.fqnOf(id), hierarchy: { ...up, children: below(snapshot, id, way) } }
}

/** `way` holds the names between here and the target: a circle ends where it meets itself (threat A5). */
function above(snapshot: Snapshot, name: number, way: ReadonlySet<number>): HierarchyNode {
  const id = snapshot.index.findByNameId(name)
  if (id === undefined)
    return { ...describe(snapshot, name, undefined), parent: null, interfaces: [], children: [] }
  const { superclass, interfaces } = supertypesOf(snapshot, id)
  const up = (each: number): HierarchyNode => above(snapshot, each, new Set([...way, each]))
  const self = describe(snapshot, name, id)
  // Class files give interfaces Object; Java gives them none.
  const isRoot = superclass === undefined || self.isInterface || way.has(superclass)
  return {
    ...self,
    parent: isRoot ? null : up(superclass),
    interfaces: interfaces.filter((each) => !way.has(each)).map(up),
    children: [],
  }
}

function below(snapshot: Snapshot, id: number, way: ReadonlySet<number>): readonly HierarchyNode[] {
  return directSubtypes(snapshot, snapshot.index.nameIdOf(id))
    .map((child) => ({ child, name: snapshot.index.nameIdOf(child) }))
    .filter(({ name }) => !way.has(name))
    .map(({ child, name }) => ({
      ...describe(snapshot, name, child),
      parent: null,
      interfaces: [],
      children: below(snapshot, child, new Set([...way, name])),
    }))
    .toSorted((a, b) => compare(a.classFqn, b.classFqn))
}

function describe(snapshot: Snapshot, name: number, id: number | undefined) {
  const classFqn = toFqn(snapshot.index.names.get(name))
  const simpleName = simpleNameOf(classFqn)
  if (id === undefined) return { classFqn, simpleName, source: 'UNKNOWN', isInterface: false }
  const { digest, firstClass, source } = snapshot.index.sliceOf(id)
  const isInterface = ((digest.classes.accessFlags[id - firstClass] ?? 0) & ACC.INTERFACE) !== 0
  return { classFqn, simpleName, source, isInterface }
}
