import { USE } from '../../index/digest.ts'
import type { Snapshot } from '../snapshot.ts'

const BOTH = [USE.EXTENDS, USE.IMPLEMENTS] as const

/** Returns the direct subtypes of a type, by the id of its name. */
export function directSubtypes(
  snapshot: Snapshot,
  name: number,
  kinds: readonly number[] = BOTH,
): readonly number[] {
  return snapshot.index.subtypesOf(name, kinds)
}

/**
 * Returns the subtypes of a type at any depth, and whether each is direct. Class files can form a cycle
 * (threat A5): every class is visited once, and the type is not its own subtype.
 *
 * @param first kinds of the first step; all kinds count below it
 */
export function allSubtypes(
  snapshot: Snapshot,
  name: number | undefined,
  first: readonly number[] = BOTH,
): ReadonlyMap<number, boolean> {
  const found = new Map<number, boolean>()
  if (name === undefined) return found
  const isOther = (id: number): boolean => snapshot.index.nameIdOf(id) !== name
  let level = directSubtypes(snapshot, name, first).filter(isOther)
  for (const id of level) found.set(id, true)
  while (level.length > 0) {
    const next: number[] = []
    for (const parent of level) {
      for (const id of directSubtypes(snapshot, snapshot.index.nameIdOf(parent))) {
        if (found.has(id) || !isOther(id)) continue
        found.set(id, false)
        next.push(id)
      }
    }
    level = next
  }
  return found
}

/** Returns the direct supertypes of a class as ids of names: the superclass first, then the interfaces. */
export function supertypesOf(
  snapshot: Snapshot,
  id: number,
): { readonly superclass: number | undefined; readonly interfaces: readonly number[] } {
  const { digest, firstClass } = snapshot.index.sliceOf(id)
  const { classes, interfaces } = digest
  const row = id - firstClass
  const superName = classes.superName[row] ?? -1
  const names: number[] = []
  for (let each = classes.firstInterface[row] ?? 0; each < (classes.firstInterface[row + 1] ?? 0); each++) {
    names.push(interfaces.name[each] ?? -1)
  }
  return { superclass: superName < 0 ? undefined : superName, interfaces: names }
}

/**
 * Returns the supertypes of a type at any depth, as ids of names. Supertypes of a type that is not on the
 * class path are unknown.
 */
export function allSupertypes(snapshot: Snapshot, name: number): ReadonlySet<number> {
  const found = new Set<number>()
  const open = [name]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const id = snapshot.index.findByNameId(next)
    if (id === undefined) continue
    const { superclass, interfaces } = supertypesOf(snapshot, id)
    for (const each of superclass === undefined ? interfaces : [superclass, ...interfaces]) {
      if (each === name || found.has(each)) continue
      found.add(each)
      open.push(each)
    }
  }
  return found
}
