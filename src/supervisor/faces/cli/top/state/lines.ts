import type { WireLogEntry } from '../../../../api/log.ts'
import { safeText } from '../text/cells.ts'

/** A line of output, safe for the screen. */
export interface Line {
  /** Number in the order of arrival; it stays while older lines are dropped. */
  readonly key: number
  readonly process: string
  readonly isError: boolean
  readonly text: string
  /** Time of day with milliseconds, UTC. */
  readonly time: string
}

/** Lines in memory, and those of them that match a filter. */
export interface LineBuffer {
  readonly lines: readonly Line[]
  readonly filter: string
  readonly matching: readonly Line[]
  readonly nextKey: number
  /** Number of characters of all lines. */
  readonly size: number
}

/** Lines kept, as many as the API returns at most. */
export const MAX_LINES = 10_000
/** Characters kept, for lines that are long. */
export const MAX_CHARACTERS = 8_000_000

/** Creates a buffer without lines. */
export function emptyBuffer(filter = ''): LineBuffer {
  return { lines: [], filter, matching: [], nextKey: 0, size: 0 }
}

/** Appends lines and drops the oldest ones beyond the limits. */
export function append(buffer: LineBuffer, entries: readonly WireLogEntry[]): LineBuffer {
  const added = entries.map(({ timestamp, process, stream, line }, at) => ({
    key: buffer.nextKey + at,
    process,
    isError: stream === 'stderr',
    text: safeText(line),
    time: timestamp.slice(11, 23),
  }))
  const lines = [...buffer.lines, ...added]
  let size = added.reduce((sum, { text }) => sum + text.length, buffer.size)
  let dropped = 0
  while (lines.length - dropped > MAX_LINES || (size > MAX_CHARACTERS && dropped < lines.length - 1))
    size -= lines[dropped++]?.text.length ?? 0
  const kept = lines.slice(dropped)
  const firstKey = kept[0]?.key ?? 0
  const isWanted = containing(buffer.filter)
  const matching = [...buffer.matching, ...added.filter(({ text }) => isWanted(text))]
  return {
    ...buffer,
    lines: kept,
    matching: matching.slice(Math.max(0, indexOfKey(matching, firstKey))),
    nextKey: buffer.nextKey + added.length,
    size,
  }
}

/** Replaces the filter. */
export function filtered(buffer: LineBuffer, filter: string): LineBuffer {
  const isWanted = containing(filter)
  return { ...buffer, filter, matching: buffer.lines.filter(({ text }) => isWanted(text)) }
}

/** Returns the index of the first line with at least this key; the number of lines if all are older. */
export function indexOfKey(lines: readonly Line[], key: number): number {
  let low = 0
  let high = lines.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((lines[middle]?.key ?? 0) < key) low = middle + 1
    else high = middle
  }
  return low
}

/** Returns a test whether text contains a pattern. A pattern in lower case also finds capital letters. */
export function containing(pattern: string): (text: string) => boolean {
  return (text) => pattern === '' || fold(text, pattern).includes(pattern)
}

/** Returns the ranges of a text that contain a pattern. */
export function hitsOf(text: string, pattern: string): readonly (readonly [from: number, to: number])[] {
  if (pattern === '') return []
  const folded = fold(text, pattern)
  const hits: (readonly [number, number])[] = []
  for (let at = folded.indexOf(pattern); at >= 0; at = folded.indexOf(pattern, at + pattern.length))
    hits.push([at, at + pattern.length])
  return hits
}

function fold(text: string, pattern: string): string {
  if (pattern !== pattern.toLowerCase()) return text
  const lower = text.toLowerCase()
  // A few characters have a longer lower case, which would move the hits.
  return lower.length === text.length ? lower : text
}
