import { stripVTControlCharacters } from 'node:util'

const MAX_LINE_LENGTH = 4096
// oxlint-disable-next-line no-control-regex -- control characters are what it finds
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g

/** The last lines of what a workspace printed, as text and nothing else: it may print whatever it likes (threat H10). */
export function lastLogLines(printed: string, count: number): readonly string[] {
  const lines = stripVTControlCharacters(printed)
    .split('\n')
    .map((line) => line.replaceAll(CONTROL, '').slice(0, MAX_LINE_LENGTH))
  if (lines.at(-1) === '') lines.pop()
  return lines.slice(-count)
}
