/** Characters that the text of a page never has: they mark what was found. */
export const MARK_BEGIN = '\u0001'
export const MARK_END = '\u0002'

/** Part of a text around what was found in it. */
export interface Excerpt {
  readonly text: string
  /** The words that were found: where each begins and ends in the text, in UTF-16 code units. */
  readonly marks: readonly Mark[]
  /** Where the first of them is in the whole text; undefined where none is. */
  readonly at: number | undefined
}

export type Mark = readonly [begin: number, end: number]

const LENGTH = 240
/** How much text an excerpt has before the first word that was found. */
const BEFORE = 60
/** A longer word is cut. */
const LONGEST_WORD = 40

/** Cuts out of a marked text the part that has most of the different words that were found, the earliest among equals. */
export function cutExcerpt(marked: string): Excerpt {
  const { text, marks } = unmark(marked)
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

function unmark(marked: string): { readonly text: string; readonly marks: readonly Mark[] } {
  const marks: Mark[] = []
  let text = ''
  for (const [at, piece] of marked.split(MARK_BEGIN).entries()) {
    const end = at === 0 ? -1 : piece.indexOf(MARK_END)
    if (end !== -1) marks.push([text.length, text.length + end])
    text += end === -1 ? piece : piece.slice(0, end) + piece.slice(end + MARK_END.length)
  }
  return { text, marks }
}

/** The mark from which on an excerpt has most different words. */
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

/** The beginning of the first word after a place, at most at `limit`. */
function nextWord(text: string, place: number, limit: number): number {
  const space = text.indexOf(' ', place)
  return space === -1 || space >= limit ? wholeCharacter(text, place) : space + 1
}

/** The end of the last word before a place. */
function lastWord(text: string, place: number): number {
  const space = text.lastIndexOf(' ', place)
  return space < place - LONGEST_WORD ? wholeCharacter(text, place) : space
}

/** A place that is not inside a surrogate pair. */
function wholeCharacter(text: string, place: number): number {
  const code = text.charCodeAt(place)
  return code >= 0xdc00 && code < 0xe000 ? place - 1 : place
}
