import { createTwoFilesPatch, FILE_HEADERS_ONLY, structuredPatch } from 'diff'
import type { StyleIssue } from './style-issue.ts'

/** Finding the shortest difference of two texts that share little takes long. */
const DIFF_MS = 2_000

/** Where a text differs from its formatted form, one issue for each run of lines. */
export function styleIssues(text: string, formatted: string): readonly StyleIssue[] {
  if (text === formatted) return []
  const patch = structuredPatch('', '', text, formatted, undefined, undefined, {
    context: 0,
    timeout: DIFF_MS,
  })
  if (patch === undefined)
    return [issueOf(1, text.split('\n').length, 1, 'the whole file', formatted.split('\n')[0])]
  return patch.hunks.map(({ oldStart, oldLines, lines }) => {
    const [before = ''] = lines.filter((line) => line.startsWith('-'))
    const [after] = lines.filter((line) => line.startsWith('+'))
    const first = Math.max(1, oldStart)
    const last = first + Math.max(1, oldLines) - 1
    const col = oldLines === 0 ? 1 : firstDifference(before.slice(1), after?.slice(1) ?? '')
    return issueOf(first, last, col, oldLines === 0 ? 'what is added here' : undefined, after?.slice(1))
  })
}

function issueOf(line: number, endLine: number, col: number, what?: string, expected?: string): StyleIssue {
  const lines = line === endLine ? `line ${line}` : `what is in lines ${line} to ${endLine}`
  const instead =
    expected === undefined
      ? 'not here'
      : expected.trim() === ''
        ? 'a blank line'
        : JSON.stringify(expected.trim().slice(0, 80))
  const detail = `formatted, ${what ?? lines} ${expected === undefined ? 'is' : 'begins with'} ${instead}`
  return { line, col, endLine, ruleId: 'format', detail, canBeAutoCorrected: true }
}

function firstDifference(before: string, after: string): number {
  let at = 0
  while (at < before.length && before[at] === after[at]) at++
  return at + 1
}

/** A unified diff that `git apply` and `patch -p1` take; null where finding it takes too long. */
export function unifiedDiff(filePath: string, text: string, formatted: string): string | null {
  const options = { context: 3, timeout: DIFF_MS, headerOptions: FILE_HEADERS_ONLY }
  const names = [`a/${filePath}`, `b/${filePath}`] as const
  return createTwoFilesPatch(...names, text, formatted, undefined, undefined, options) ?? null
}
