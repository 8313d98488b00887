import { nearest } from '../../lib/config/nearest.ts'
import type { NameList } from '../index/name-list.ts'
import type { ProjectIndex } from '../index/project-index.ts'
import { simpleNameOf, toFqn, toInternal } from './names.ts'

/** Maximum number of suggested names. */
const SHOWN = 3

/**
 * Returns the ids of types whose name ends with a name in source notation, without package or with its last
 * part: those of the project, else those of libraries and the JDK, else those only mentioned in class files.
 */
export function typesEnding(index: ProjectIndex, written: string): readonly number[] {
  if (written.includes('*')) return []
  const classes = matching(index.classNames(), written)
  const own = classes.filter((name) => sourceOf(index, name) === 'PROJECT')
  if (own.length > 0) return own
  return classes.length > 0 ? classes : matching(index.typeNames(), written)
}

function matching(names: NameList, written: string): readonly number[] {
  const patterns = nestings(written).flatMap((name) =>
    name.includes('/') ? [`*/${name}`] : [name, `*/${name}`],
  )
  const found = patterns.map((pattern) => names.match(pattern, 'className'))
  return Array.from(names.ids).filter((id) => found.some((set) => set[id] === 1))
}

/** Returns the internal names that a dotted name can mean: "a.B.C" is a/B/C, a/B$C or a$B$C. */
export function nestings(fqn: string): readonly string[] {
  const names = [toInternal(fqn)]
  for (let name = names[0] ?? ''; name.includes('/'); names.push(name)) {
    const slash = name.lastIndexOf('/')
    name = `${name.slice(0, slash)}$${name.slice(slash + 1)}`
  }
  return names
}

/**
 * Returns the full names of a few classes similar to one that does not exist: of the project, else of libraries,
 * else of the JDK.
 *
 * @param isInternal tests whether a class is an internal one of the JDK, which is never suggested
 */
export function similarClasses(
  index: ProjectIndex,
  written: string,
  isInternal: (classId: number) => boolean,
): readonly string[] {
  const simple = simpleNameOf(written.replaceAll('/', '.'))
  const same = typesEnding(index, simple)
    .map((name) => ({ name, id: index.findByNameId(name) }))
    .filter(({ id }) => id === undefined || !(isInternal(id) || index.isMade(id)))
    .toSorted((a, b) => Number(isOfJdk(index, a.id)) - Number(isOfJdk(index, b.id)))
  if (same.length > 0) return same.slice(0, SHOWN).map(({ name }) => toFqn(index.names.get(name)))
  const first = simple.slice(0, 1).toLowerCase()
  const fqnOf = (id: number): string => toFqn(index.nameOf(id))
  const own = closest(simple, Array.from(index.writtenOfProject(), fqnOf))
  if (own !== undefined) return own
  // Limits hundreds of thousands of names to those with the same first letter.
  const others = Array.from(index.writtenByName()).filter((id) =>
    simpleNameOf(fqnOf(id)).toLowerCase().startsWith(first),
  )
  const [jdk = [], libraries = []] = [true, false].map((isJdk) =>
    others.filter((id) => isOfJdk(index, id) === isJdk),
  )
  return (
    closest(simple, libraries.map(fqnOf)) ??
    closest(simple, jdk.filter((id) => !isInternal(id)).map(fqnOf)) ??
    []
  )
}

const isOfJdk = (index: ProjectIndex, id: number | undefined): boolean =>
  id !== undefined && index.sliceOf(id).source === 'JDK'

function closest(simple: string, fqns: readonly string[]): readonly string[] | undefined {
  const bySimpleName = Map.groupBy(fqns, simpleNameOf)
  const found = nearest(simple, bySimpleName.keys())
  return found === undefined ? undefined : bySimpleName.get(found)?.slice(0, SHOWN)
}

/** Returns "; did you mean a.B or c.D?", or "" without names. */
export function suggestion(names: readonly string[]): string {
  return names.length === 0 ? '' : `; did you mean ${names.join(' or ')}?`
}

function sourceOf(index: ProjectIndex, name: number): string | undefined {
  const id = index.findByNameId(name)
  return id === undefined ? undefined : index.sliceOf(id).source
}
