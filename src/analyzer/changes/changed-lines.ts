import { structuredPatch } from 'diff'
import type { FileChange } from '../query/impact/class-change.ts'
import { codeLines, importedName } from './java-code.ts'

/** Finding the shortest diff takes quadratic time: with more edits than this, the whole file changed. */
const MAX_EDITS = 2_000

/**
 * Returns the ranges of lines that differ, as in `FileChange`; undefined if there are too many. In Java,
 * comments and white space do not count, nor do imports of names that the rest of neither version uses.
 */
export function changedLines(path: string, old: string, now: string): FileChange['lines'] {
  const isJava = path.endsWith('.java')
  const lines = isJava ? codeLines : (text: string) => text.replaceAll('\r\n', '\n').split('\n')
  const [before, after] = [lines(old), lines(now)]
  const unused = isJava ? unusedImports(before, after) : new Set<string>()
  const patch = structuredPatch('', '', joined(before, unused), joined(after, unused), undefined, undefined, {
    context: 0,
    maxEditLength: MAX_EDITS,
  })
  return patch?.hunks.flatMap(({ oldLines, newStart, newLines }) => {
    if (newLines === 0) return [[newStart, newStart - 1] as const]
    const end = newStart + newLines - 1
    const range = [newStart, end] as const
    // Declarations can have been removed on either side.
    return oldLines > newLines ? ([[newStart, newStart - 1], range, [end + 1, end]] as const) : [range]
  })
}

/** Returns imports in one of two versions that cannot change the meaning of the lines in both. */
function unusedImports(before: readonly string[], after: readonly string[]): ReadonlySet<string> {
  const [old, now] = [new Set(before), new Set(after)]
  return new Set([
    ...before.filter((line) => !now.has(line) && isUnused(line, after)),
    ...after.filter((line) => !old.has(line) && isUnused(line, before)),
  ])
}

function isUnused(line: string, others: readonly string[]): boolean {
  const name = importedName(line)
  if (name === undefined) return false
  const used = new RegExp(`(?<![\\w$])${name.replaceAll('$', String.raw`\$`)}(?![\\w$])`)
  return !others.some((other) => used.test(other))
}

function joined(lines: readonly string[], unused: ReadonlySet<string>): string {
  return `${lines.map((line) => (unused.has(line) ? '' : line)).join('\n')}\n`
}
