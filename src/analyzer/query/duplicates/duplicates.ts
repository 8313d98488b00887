import type { DUPLICATES } from '../../choices.ts'
import type { Source } from '../../classpath/source.ts'
import { packageOf, toFqn } from '../names.ts'
import { pageOf, type Paging } from '../paging.ts'
import type { RunSearch } from '../search-queue.ts'
import type { Snapshot } from '../snapshot.ts'
import { compare } from '../sort-in-turns.ts'

/** Classes of a page that are compared by their bytes: each has to be read. */
const MAX_COMPARED = 200
const MAX_PAIRS = 100

/** A class path entry that has a class or package. */
interface Place {
  /** Folder, archive or image; a nested archive follows "!/". */
  readonly location: string
  readonly source: Source
}

/** A class that is on the class path more than once. */
interface DuplicateClass {
  readonly classFqn: string
  /** In the order in which a JVM searches them: the first one is loaded. */
  readonly locations: readonly Place[]
  /** Whether all class files have the same bytes; null if that is unknown. */
  readonly isIdentical: boolean | null
}

/** A package with classes in several places. */
interface SplitPackage {
  readonly packageName: string
  readonly locations: readonly (Place & { readonly classCount: number })[]
}

/** Returns the hash of each class file, or null. */
export type HashClasses = (
  classes: readonly { readonly location: string; readonly name: string }[],
) => Promise<readonly (string | null)[]>

/**
 * Returns the classes that are on the class path more than once, or the packages that are in several places.
 *
 * @throws the errors of `run`
 */
export function duplicatesOf(
  snapshot: Snapshot,
  of: (typeof DUPLICATES)[number],
  paging: Paging,
  { run, hash }: { readonly run: RunSearch; readonly hash: HashClasses },
) {
  return of === 'class' ? duplicateClasses(snapshot, paging, run, hash) : run(splitPackages(snapshot, paging))
}

async function duplicateClasses(snapshot: Snapshot, paging: Paging, run: RunSearch, hash: HashClasses) {
  const found = await run(findDuplicates(snapshot))
  const { rows, ...page } = pageOf(found, paging, ({ name, ids }) => ({
    name: snapshot.index.names.get(name),
    locations: ids.map((id) => placeOf(snapshot, id)),
  }))
  const compared = rows.slice(0, MAX_COMPARED)
  const hashes = await hash(
    compared.flatMap(({ name, locations }) => locations.map(({ location }) => ({ location, name }))),
  )
  let at = 0
  const classes = rows.map(({ name, locations }, row): DuplicateClass => {
    const own = row < compared.length ? hashes.slice(at, (at += locations.length)) : []
    const isKnown = own.length > 0 && !own.includes(null)
    return {
      classFqn: toFqn(name),
      locations,
      isIdentical: isKnown ? own.every((each) => each === own[0]) : null,
    }
  })
  return { of: 'class', classes, ...page, pairs: pairsOf(snapshot, found) }
}

interface Duplicate {
  readonly name: number
  readonly ids: readonly number[]
}

/** Finds names with several classes, sorted by name. */
function* findDuplicates(snapshot: Snapshot): Generator<void, readonly Duplicate[]> {
  const { index } = snapshot
  const byName = new Map<number, number[]>()
  for (let id = 0; id < index.classCount; id++) {
    if (id % 1024 === 0) yield
    const first = index.findByNameId(index.nameIdOf(id))
    if (first === undefined || first === id || isDescription(snapshot, id) || index.isMade(id)) continue
    const name = index.nameIdOf(id)
    const ids = byName.get(name)
    if (ids === undefined) byName.set(name, [first, id])
    else ids.push(id)
  }
  const ranks = index.ranks()
  yield
  const found = Array.from(byName, ([name, ids]) => ({ name, ids: inLoadingOrder(snapshot, ids) }))
  return found.toSorted((a, b) => (ranks[firstOf(index, a.name)] ?? 0) - (ranks[firstOf(index, b.name)] ?? 0))
}

function firstOf(index: Snapshot['index'], name: number): number {
  return index.findByNameId(name) ?? 0
}

/** Whether a class describes a module or package; many archives have one of the same name. */
function isDescription(snapshot: Snapshot, id: number): boolean {
  return /(?:^|\/)(?:module|package)-info$/.test(snapshot.index.nameOf(id))
}

/** A JVM loads a package of the JDK's modules from there, before it searches the class path. */
function inLoadingOrder(snapshot: Snapshot, ids: readonly number[]): readonly number[] {
  const isOfJdk = (id: number): boolean => snapshot.sourceOf(id) === 'JDK'
  return [...ids.filter(isOfJdk), ...ids.filter((id) => !isOfJdk(id))]
}

function placeOf(snapshot: Snapshot, id: number): Place {
  const { location, source } = snapshot.index.sliceOf(id)
  return { location, source }
}

/** Returns which places have the same classes, those with the most first. */
function pairsOf(snapshot: Snapshot, found: readonly Duplicate[]) {
  const counts = new Map<string, { readonly loaded: string; readonly hidden: string; classCount: number }>()
  for (const { ids } of found) {
    const [loaded = '', ...others] = ids.map((id) => placeOf(snapshot, id).location)
    for (const hidden of others) {
      const key = `${loaded}\0${hidden}`
      const pair = counts.get(key) ?? { loaded, hidden, classCount: 0 }
      pair.classCount++
      counts.set(key, pair)
    }
  }
  return [...counts.values()].toSorted((a, b) => b.classCount - a.classCount).slice(0, MAX_PAIRS)
}

/** Finds packages with classes in several archives, modules of the project or the JDK. */
function* splitPackages(snapshot: Snapshot, paging: Paging) {
  const { index } = snapshot
  const byPackage = new Map<string, Map<string, Place & { classCount: number }>>()
  for (let id = 0; id < index.classCount; id++) {
    if (id % 256 === 0) yield
    if (isDescription(snapshot, id)) continue
    const name = packageOf(snapshot.fqnOf(id))
    const place = placeOf(snapshot, id)
    const unit = unitOf(place)
    let units = byPackage.get(name)
    if (units === undefined) byPackage.set(name, (units = new Map()))
    const known = units.get(unit)
    if (known === undefined) units.set(unit, { ...place, location: unit, classCount: 1 })
    else known.classCount++
  }
  const split = [...byPackage].filter(([, units]) => units.size > 1).toSorted(([a], [b]) => compare(a, b))
  const { rows, ...page } = pageOf(split, paging, ([packageName, units]): SplitPackage => ({
    packageName,
    locations: [...units.values()],
  }))
  return { of: 'package', packages: rows, ...page }
}

/** Returns the module of a class folder, so that main and test classes are in the same place. */
function unitOf({ location, source }: Place): string {
  return source === 'PROJECT' ? location.replace(/[/\\](?:target|build|out)[/\\][^!]*$/, '') : location
}
