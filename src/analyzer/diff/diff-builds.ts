import { ACC } from '../bytecode/access-flags.ts'
import { compare } from '../query/sort-in-turns.ts'
import type { Build } from './build.ts'
import { type Change, ChangeList } from './change.ts'
import { compareClasses } from './compare-classes.ts'
import { compareFields } from './compare-fields.ts'
import { compareMethods } from './compare-methods.ts'
import { isApi } from './visibility.ts'

/** Differences between the APIs of two builds, sorted by class, member and kind. */
export interface BuildDiff {
  readonly old: string
  readonly new: string
  /** Whether programs compiled against the old build still link with the new one (JLS 13.2). */
  readonly compatible: boolean
  readonly changes: readonly Change[]
  readonly changeCount: number
  readonly incompatibleCount: number
  /** Class files that could not be read and are not compared. */
  readonly problems: readonly string[]
}

/**
 * Compares two builds.
 *
 * @param all whether to include what no other package can use
 */
export function diffBuilds(old: Build, now: Build, all: boolean): BuildDiff {
  const names = new Set([...old.classes.keys(), ...now.classes.keys()])
  const changes = [...names].flatMap((name) => changesOf(name, { old, new: now }, all))
  const sorted = changes.toSorted(
    (a, b) =>
      compare(a.classFqn, b.classFqn) ||
      compare(a.member, b.member) ||
      compare(a.descriptor, b.descriptor) ||
      compare(a.change, b.change) ||
      compare(a.from ?? a.to ?? '', b.from ?? b.to ?? ''),
  )
  const incompatibleCount = sorted.filter(({ compatible }) => !compatible).length
  return {
    old: old.path,
    new: now.path,
    compatible: incompatibleCount === 0,
    changes: sorted,
    changeCount: sorted.length,
    incompatibleCount,
    problems: [...old.problems, ...now.problems],
  }
}

function changesOf(
  name: string,
  builds: { readonly old: Build; readonly new: Build },
  all: boolean,
): readonly Change[] {
  const before = builds.old.classes.get(name)
  const after = builds.new.classes.get(name)
  const wasApi = before !== undefined && isApi(builds.old, before)
  const isNowApi = after !== undefined && isApi(builds.new, after)
  const isMade = ((after ?? before)?.flags ?? 0) & ACC.SYNTHETIC
  if (!wasApi && !isNowApi && (!all || isMade !== 0)) return []
  const changes = new ChangeList(name, wasApi)
  if (before === undefined) changes.add('CLASS_ADDED')
  else if (after === undefined) changes.add('CLASS_REMOVED')
  else {
    const pair = { before, after, builds, all }
    compareClasses(pair, changes)
    compareFields(pair, changes)
    compareMethods(pair, changes)
  }
  return changes.all
}
