import { type Change, type Mark, unfoldText } from './fold.ts'
import type { Match } from './phrase.ts'

/** Part of a text around matches. */
export interface Excerpt {
  readonly text: string
  /** Start and end of each match in the text, in UTF-16 code units. */
  readonly marks: readonly Mark[]
  /** Position of the first match in the whole folded text; undefined without one. */
  readonly at: number | undefined
}

const LENGTH = 240
/** Maximum text before the first match of an excerpt. */
const BEFORE = 60
/** Longer words are cut. */
const LONGEST_WORD = 40

/** A folded text may be longer than the text, by less than this factor in most scripts. */
const FOLDED = 3
/** Changes are stored in lines, one for each part of this length of the folded text. */
const PART = 4_096

/** Returns the stored form of the changes of a text. */
export function formatChanges(changes: readonly Change[]): string {
  const parts: Change[][] = []
  for (const change of changes) {
    const part = Math.floor(change[0] / PART)
    while (parts.length <= part) parts.push([])
    parts[part]?.push(change)
  }
  return parts.map((part) => (part.length === 0 ? '' : JSON.stringify(part))).join('\n')
}

/**
 * Returns the part of a folded text with the most matching phrases, as it was written; the earliest if several are
 * equal. Apart from finding the matches, its cost does not depend on the length of the text.
 *
 * @param stored the changes in the text
 * @param matches in order
 * @param phrases number of phrases
 */
export function cutExcerpt(
  folded: string,
  stored: string,
  matches: Iterable<Match>,
  phrases: number,
): Excerpt {
  const { all, first } = bestMatch(matches, phrases)
  const from = Math.max(0, (first?.begin ?? 0) - FOLDED * BEFORE)
  const to = Math.min(folded.length, (first?.begin ?? 0) + FOLDED * LENGTH)
  const { begin: left, end: right, changes } = changesWithin(stored, folded, from, to)
  const shown = all.filter((match) => match.begin >= left && match.end <= right)
  const { text, marks } = unfoldText(
    { text: folded.slice(left, right), marks: shown.map((match) => [match.begin - left, match.end - left]) },
    changes,
  )
  const at = marks[shown.findIndex((match) => match === first)]?.[0] ?? 0
  const begin = at <= BEFORE ? 0 : nextWord(text, at - BEFORE, at)
  const end = begin + LENGTH >= text.length ? text.length : lastWord(text, begin + LENGTH)
  const before = left > 0 || begin > 0 ? '… ' : ''
  const shift = before.length - begin
  return {
    text:
      before + text.slice(begin, end).trimEnd() + (right < folded.length || end < text.length ? ' …' : ''),
    marks: marks
      .filter(([start, stop]) => start >= begin && stop <= end)
      .map(([start, stop]) => [start + shift, stop + shift]),
    at: first?.begin,
  }
}

/** Returns a part of a folded text that includes whole changes, which are relative to its start. */
function changesWithin(
  stored: string,
  folded: string,
  from: number,
  to: number,
): { begin: number; end: number; changes: readonly Change[] } {
  // A change is shorter than a part.
  const parts = stored.split('\n').slice(Math.max(0, Math.floor(from / PART) - 1), Math.floor(to / PART) + 1)
  const changes = parts
    .flatMap((part) => (part === '' ? [] : (JSON.parse(part) as readonly Change[])))
    .filter(([at, length]) => at + length >= from && at <= to)
  const begin = wholeCharacter(folded, Math.min(from, changes[0]?.[0] ?? from))
  const [last, length] = changes.at(-1) ?? [0, 0]
  const end = wholeCharacter(folded, Math.max(to, last + length))
  return { begin, end, changes: changes.map(([at, ...rest]) => [at - begin, ...rest]) }
}

/**
 * Returns the match at which an excerpt with the most phrases starts. Reads no further matches than necessary, and
 * returns all that it has read.
 */
function bestMatch(
  matches: Iterable<Match>,
  phrases: number,
): { all: readonly Match[]; first: Match | undefined } {
  const all: Match[] = []
  const inside = new Map<number, number>()
  const add = (phrase: number, count: number): void => {
    const sum = (inside.get(phrase) ?? 0) + count
    if (sum > 0) inside.set(phrase, sum)
    else inside.delete(phrase)
  }
  let first: Match | undefined
  let [most, next, stop] = [0, 0, Infinity]
  for (const match of matches) {
    if (match.begin > stop) break
    all.push(match)
    add(match.phrase, 1)
    for (let each = all[next]; each !== undefined && each !== match; each = all[++next]) {
      if (match.end <= each.begin + LENGTH - BEFORE) break
      add(each.phrase, -1)
    }
    if (inside.size <= most) continue
    most = inside.size
    first = all[next]
    if (most === phrases) stop = (first?.begin ?? 0) + FOLDED * LENGTH
  }
  return { all, first }
}

/** Returns the start of the first word after a position, at most `limit`. */
function nextWord(text: string, position: number, limit: number): number {
  const space = text.indexOf(' ', position)
  return space === -1 || space >= limit ? wholeCharacter(text, position) : space + 1
}

/** Returns the end of the last word before a position. */
function lastWord(text: string, position: number): number {
  const space = text.lastIndexOf(' ', position)
  return space < position - LONGEST_WORD ? wholeCharacter(text, position) : space
}

/** Moves a position that is inside a surrogate pair. */
function wholeCharacter(text: string, position: number): number {
  const code = text.charCodeAt(position)
  return code >= 0xdc00 && code < 0xe000 ? position - 1 : position
}
