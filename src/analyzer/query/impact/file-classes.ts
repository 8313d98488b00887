import { TRAIT } from '../../bytecode/columns.ts'
import { rows } from '../../bytecode/facts.ts'
import { WrittenMethods } from '../../bytecode/written-methods.ts'
import { sourceFileOf } from '../source-file-of.ts'
import type { Snapshot } from '../snapshot.ts'
import type { FileChange } from './class-change.ts'

/** Changed members of a class, by the lines of its source file. */
export interface ChangedRows {
  readonly classId: number
  /** Whether more than methods can have changed. */
  readonly isHeaderChanged: boolean
  /** Rows of methods in the slice's facts. */
  readonly methods: readonly number[]
}

/** Returns the classes of each source file, by path; a file of Java is found by its package too. */
export function* classesOfFiles(
  snapshot: Snapshot,
  files: readonly FileChange[],
): Generator<void, ReadonlyMap<string, readonly number[]>> {
  const byName = new Map<string, string[]>()
  for (const { path } of files) {
    const name = path.slice(path.lastIndexOf('/') + 1)
    byName.set(name, [...(byName.get(name) ?? []), path])
  }
  const found = new Map<string, number[]>()
  for (const classId of snapshot.index.ofProject()) {
    yield
    const file = sourceFileOf(snapshot, classId)
    if (file === null) continue
    for (const path of byName.get(file.slice(file.lastIndexOf('/') + 1)) ?? []) {
      // Other languages do not require folders of packages.
      if (path.endsWith('.java') && path !== file && !path.endsWith(`/${file}`)) continue
      const others = found.get(path)
      if (others === undefined) found.set(path, [classId])
      else others.push(classId)
    }
  }
  return found
}

interface Span {
  readonly row: number
  readonly classId: number
  readonly first: number
  readonly last: number
  /** Initializers have the lines of fields, between which anything can be. */
  readonly isInitializer: boolean
}

/** Returns what changed in the classes of a file: everything where line tables do not show it. */
export function changedRows(
  snapshot: Snapshot,
  classIds: readonly number[],
  lines: FileChange['lines'],
): readonly ChangedRows[] {
  const spans: Span[] = []
  const withoutLines = new Set<number>()
  for (const classId of classIds) {
    const slice = snapshot.index.sliceOf(classId)
    const facts = snapshot.facts(slice)
    const { classes, methods, strings } = facts
    const own = WrittenMethods.of(facts, classId - slice.firstClass)
    for (const row of rows(classes.firstMethod, classId - slice.firstClass)) {
      // Accessors and bridges have the line of the class.
      if (own.isMade(row) && !own.isLambdaBody(row) && !snapshot.index.isMade(classId)) continue
      const [first, last] = [methods.firstLine[row] ?? -1, methods.lastLine[row] ?? -1]
      const isInitializer = strings.get(methods.name[row] ?? 0).startsWith('<')
      if (first >= 0) spans.push({ row, classId, first, last, isInitializer })
      else if (((methods.traits[row] ?? 0) & TRAIT.HAS_CODE) !== 0) withoutLines.add(classId)
    }
  }
  const isUncovered = lines === undefined || lines.some((range) => !isCovered(range, spans))
  return classIds.map((classId) => ({
    classId,
    isHeaderChanged: isUncovered || withoutLines.has(classId),
    methods: spans
      .filter((span) => span.classId === classId && (lines ?? []).some((range) => overlaps(range, span)))
      .map(({ row }) => row),
  }))
}

type Range = NonNullable<FileChange['lines']>[number]

/** An empty range is between two lines; both have to be in the method. */
function overlaps([from, to]: Range, { first, last }: Pick<Span, 'first' | 'last'>): boolean {
  return first <= to && last >= from
}

/** Whether only code of methods can be in a range. */
function isCovered([from, to]: Range, spans: readonly Span[]): boolean {
  const inside = spans.filter(({ isInitializer }) => !isInitializer)
  if (from > to) return inside.some((span) => overlaps([from, to], span))
  let next = from
  for (const { first, last } of inside.toSorted((a, b) => a.first - b.first))
    if (first <= next && last >= next) next = last + 1
  return next > to
}
