import { FILE_HEADERS_ONLY, formatPatch, structuredPatch, type StructuredPatch } from 'diff'
import type { StyleIssue } from './style-issue.ts'

/**
 * Finding the shortest diff takes quadratic time: with more edits than this, everything is reported as one
 * change.
 */
const MAX_EDITS = 400

/** Returns one issue for each run of lines in which a text differs from its formatted form. */
export function styleIssues(text: string, formatted: string): readonly StyleIssue[] {
  if (text === formatted) return []
  return hunksOf(text, formatted, 0).map(({ oldStart, oldLines, lines }) => {
    const [before = ''] = lines.filter((line) => line.startsWith('-'))
    const [after] = lines.filter((line) => line.startsWith('+'))
    const first = Math.max(1, oldStart)
    const last = first + Math.max(1, oldLines) - 1
    const col = oldLines === 0 ? 1 : firstDifference(before.slice(1), after?.slice(1) ?? '')
    return issueOf(first, last, col, oldLines === 0 ? 'the text inserted here' : undefined, after?.slice(1))
  })
}

function hunksOf(text: string, formatted: string, context: number): StructuredPatch['hunks'] {
  const options = { context, maxEditLength: MAX_EDITS }
  const patch =
    changedLines(text, formatted) > MAX_EDITS
      ? undefined
      : structuredPatch('', '', text, formatted, undefined, undefined, options)
  return (patch ?? wholePatch(text, formatted, context)).hunks
}

/** Returns the number of lines of a text that the other lacks, a lower bound of the edits. */
export function changedLines(text: string, formatted: string): number {
  const kept = new Set(formatted.split('\n'))
  return text.split('\n').filter((line) => !kept.has(line)).length
}

/** Returns one change from the first to the last differing line. */
function wholePatch(text: string, formatted: string, context: number): Pick<StructuredPatch, 'hunks'> {
  const [old, now] = [linesOf(text), linesOf(formatted)]
  let start = 0
  while (start < old.length && start < now.length && old[start] === now[start]) start++
  let end = 0
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)) end++
  const [removed, added] = [old.slice(start, old.length - end), now.slice(start, now.length - end)]
  const before = old.slice(Math.max(0, start - context), start)
  const after = old.slice(old.length - end).slice(0, context)
  const lines = [
    ...marked(' ', before),
    ...marked('-', removed),
    ...marked('+', added),
    ...marked(' ', after),
  ]
  const first = start - before.length + 1
  const around = before.length + after.length
  const oldLines = removed.length + around
  return { hunks: [{ oldStart: first, oldLines, newStart: first, newLines: added.length + around, lines }] }
}

/** Splits a text into lines with their line ends, so that a last line without one differs. */
function linesOf(text: string): readonly string[] {
  const lines = text.split('\n').map((line, place, all) => (place === all.length - 1 ? line : `${line}\n`))
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines
}

function marked(sign: ' ' | '-' | '+', lines: readonly string[]): readonly string[] {
  return lines.flatMap((line) =>
    line.endsWith('\n') ? [sign + line.slice(0, -1)] : [sign + line, '\\ No newline at end of file'],
  )
}

function issueOf(line: number, endLine: number, col: number, what?: string, expected?: string): StyleIssue {
  const isOne = what !== undefined || line === endLine
  const subject = what ?? (isOne ? `line ${line}` : `lines ${line} to ${endLine}`)
  const instead =
    expected === undefined
      ? 'removed'
      : expected.trim() === ''
        ? 'a blank line'
        : JSON.stringify(expected.trim().slice(0, 80))
  const verb = expected === undefined ? (isOne ? 'is' : 'are') : isOne ? 'begins with' : 'begin with'
  const detail = `formatted, ${subject} ${verb} ${instead}`
  return { line, col, endLine, ruleId: 'format', detail, canBeAutoCorrected: true }
}

function firstDifference(before: string, after: string): number {
  let at = 0
  while (at < before.length && before[at] === after[at]) at++
  return at + 1
}

/** Returns a unified diff for `git apply` and `patch -p1`. */
export function unifiedDiff(filePath: string, text: string, formatted: string): string {
  const hunks = hunksOf(text, formatted, 3)
  const names = { oldFileName: `a/${filePath}`, newFileName: `b/${filePath}` }
  return formatPatch({ ...names, oldHeader: undefined, newHeader: undefined, hunks }, FILE_HEADERS_ONLY)
}
