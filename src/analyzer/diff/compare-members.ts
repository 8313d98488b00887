import { messageOf } from '../../lib/errors/message.ts'
import { type ClassContainer, type ClassEntry, displayPath } from '../classpath/class-container.ts'
import { listClasses } from '../classpath/list-classes.ts'
import { readClassBytes } from '../classpath/read-class-bytes.ts'
import { fault } from '../errors.ts'
import type { ClassChange, MemberChange } from '../query/impact/class-change.ts'
import { toFqn } from '../query/names.ts'
import { classHead, classText } from './class-text.ts'

/** Two builds of a project. */
export interface MembersTask {
  /** Jars, class folders, or folders that contain class folders. */
  readonly old: readonly string[]
  readonly new: readonly string[]
  /** Java release that selects classes of multi-release jars. */
  readonly release: number
}

/** Classes that differ between two builds, by name. */
export interface MembersDiff {
  readonly classes: readonly ClassChange[]
  /** Class files that could not be read. */
  readonly problems: readonly string[]
}

interface Found {
  readonly container: ClassContainer
  readonly entry: ClassEntry
  readonly isMade: boolean
}

/**
 * Compares the members of two builds with their code. What a compiler made and no longer exists is left out: the code that used
 * it differs. @throws BAD_REQUEST when one has no classes
 */
export function compareMembers(task: MembersTask): MembersDiff {
  const problems: string[] = []
  const [before, after] = [task.old, task.new].map((paths) => classesIn(paths, task.release, problems))
  const classes: ClassChange[] = []
  for (const name of [...new Set([...(before?.keys() ?? []), ...(after?.keys() ?? [])])].toSorted()) {
    const [old, now] = [before?.get(name), after?.get(name)]
    const classFqn = toFqn(name)
    if (old === undefined) classes.push({ classFqn, change: 'added', isHeaderChanged: true, members: [] })
    else if (now === undefined) {
      if (!old.isMade) classes.push({ classFqn, change: 'removed', isHeaderChanged: true, members: [] })
    } else {
      const change = changeOf(classFqn, bytesOf(old), bytesOf(now), problems)
      if (change !== undefined) classes.push(change)
    }
  }
  return { classes, problems }
}

/** Finds classes by the names in their class files: folders of an older checkout may have any depth. */
function classesIn(
  paths: readonly string[],
  release: number,
  problems: string[],
): ReadonlyMap<string, Found> {
  const found = new Map<string, Found>()
  for (const path of paths) {
    const listing = listClasses(path, release)
    for (const { path: where, message } of listing.problems) problems.push(`${where}: ${message}`)
    for (const container of listing.containers)
      for (const entry of container.classes)
        try {
          const { name, isMade } = classHead(readClassBytes(container, entry))
          if (!name.endsWith('module-info') && !found.has(name)) found.set(name, { container, entry, isMade })
        } catch (error) {
          problems.push(`${displayPath(container, entry.file)}: ${messageOf(error)}`)
        }
  }
  if (found.size === 0) {
    const reason = problems[0] === undefined ? '' : `: ${problems[0]}`
    throw fault('BAD_REQUEST', `${paths.map((path) => `"${path}"`).join(', ')} contains no classes${reason}`)
  }
  return found
}

function bytesOf({ container, entry }: Found): Buffer {
  return readClassBytes(container, entry)
}

/** Returns the changes of a class, all of it if it cannot be read; undefined without changes. */
function changeOf(classFqn: string, old: Buffer, now: Buffer, problems: string[]): ClassChange | undefined {
  if (old.equals(now)) return undefined
  try {
    const [before, after] = [classText(old), classText(now)]
    const members: MemberChange[] = []
    for (const key of new Set([...before.members.keys(), ...after.members.keys()])) {
      const [from, to] = [before.members.get(key), after.members.get(key)]
      if (from === to || (to === undefined && before.made.has(key))) continue
      const [name = '', descriptor = ''] = key.split('\0')
      const change = from === undefined ? 'added' : to === undefined ? 'removed' : 'changed'
      members.push({ name, descriptor, change })
    }
    const isHeaderChanged = before.header !== after.header
    return isHeaderChanged || members.length > 0
      ? { classFqn, change: 'changed', isHeaderChanged, members }
      : undefined
  } catch (error) {
    problems.push(`${classFqn}: ${messageOf(error)}`)
    return { classFqn, change: 'changed', isHeaderChanged: true, members: [] }
  }
}
