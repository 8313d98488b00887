import { type Change, type Mark, type MarkedText, unfoldText } from './fold.ts'

/** Control characters that mark matches; the text of a page never contains them. */
export const MARK_BEGIN = '\u0001'
/** Ends a match that `MARK_BEGIN` starts. */
export const MARK_END = '\u0002'

/** Part of a text around matches. */
export interface Excerpt {
  readonly text: string
  /** Start and end of each match in the text, in UTF-16 code units. */
  readonly marks: readonly Mark[]
  /** Position of the first match in the whole text; undefined without one. */
  readonly at: number | undefined
}

const LENGTH = 240
/** Maximum text before the first match of an excerpt. */
const BEFORE = 60
/** Longer words are cut. */
const LONGEST_WORD = 40

/**
 * Returns the part of a marked text with the most distinct matching words; the earliest if several are equal.
 *
 * @param changes of the text, which is folded
 */
export function cutExcerpt(marked: string, changes: readonly Change[] = []): Excerpt {
  const { text, marks } = unfoldText(unmark(marked), changes)
  const first = bestMark(text, marks)
  const at = marks[first]?.[0]
  const begin = at === undefined || at <= BEFORE ? 0 : nextWord(text, at - BEFORE, at)
  const end = begin + LENGTH >= text.length ? text.length : lastWord(text, begin + LENGTH)
  const [before, after] = [begin > 0 ? '… ' : '', end < text.length ? ' …' : '']
  const shift = before.length - begin
  return {
    text: before + text.slice(begin, end).trimEnd() + after,
    marks: marks
      .filter(([from, to]) => from >= begin && to <= end)
      .map(([from, to]) => [from + shift, to + shift]),
    at,
  }
}

function unmark(marked: string): MarkedText {
  const marks: Mark[] = []
  let text = ''
  for (const [at, piece] of marked.split(MARK_BEGIN).entries()) {
    const end = at === 0 ? -1 : piece.indexOf(MARK_END)
    if (end !== -1) marks.push([text.length, text.length + end])
    text += end === -1 ? piece : piece.slice(0, end) + piece.slice(end + MARK_END.length)
  }
  return { text, marks }
}

/** Returns the mark at which an excerpt with the most distinct words starts. */
function bestMark(text: string, marks: readonly Mark[]): number {
  const words = marks.map(([begin, end]) => text.slice(begin, end).toLowerCase())
  const inside = new Map<string, number>()
  let [best, most, next] = [0, 0, 0]
  for (const [at, [begin]] of marks.entries()) {
    for (; (marks[next]?.[1] ?? Infinity) <= begin + LENGTH - BEFORE; next++) {
      const word = words[next] ?? ''
      inside.set(word, (inside.get(word) ?? 0) + 1)
    }
    if (inside.size > most) [best, most] = [at, inside.size]
    const word = words[at] ?? ''
    const left = (inside.get(word) ?? 0) - 1
    if (left > 0) inside.set(word, left)
    else inside.delete(word)
    next = Math.max(next, at + 1)
  }
  return best
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
