import { ACCENTED, BARRIER, foldText, foldWord } from './fold.ts'

/** Words of a query that follow each other in a text, folded. */
export interface Phrase {
  readonly text: string
  /** Whether the last word is the start of a word. */
  readonly isPrefix: boolean
}

/** Place of a phrase in a folded text, in UTF-16 code units. */
export interface Match {
  readonly begin: number
  readonly end: number
  /** Number of the phrase. */
  readonly phrase: number
}

/** Characters of words; the tokenizer of the database has the same. */
const TOKEN = `\\p{L}\\p{M}\\p{N}\\p{Co}${BARRIER}`
/** More of the end of a word is not marked, because expressions have a stack. */
const LONGEST_END = 1_000

/** @param word without control characters */
export function toPhrase(word: string, isPrefix: boolean): Phrase {
  return { text: foldText(word).text, isPrefix }
}

/** Returns the query of FTS5 for texts that contain all phrases; nothing in them is an operator. */
export function fts5Query(phrases: readonly Phrase[]): string {
  return phrases
    .map(({ text, isPrefix }) => `"${text.replaceAll('"', '""')}"${isPrefix ? '*' : ''}`)
    .join(' AND ')
}

/**
 * Yields the matches of phrases in a folded text in order, as the database finds them. The database itself would copy
 * the text for each match (`highlight`).
 */
export function* matchesOf(text: string, phrases: readonly Phrase[]): Generator<Match> {
  const parts = phrases
    .map((phrase, number) => ({ number, part: patternOf(phrase) }))
    .filter(({ part }) => part !== '')
    // Of phrases that begin at the same word, the longest is marked.
    .toSorted((a, b) => b.part.length - a.part.length)
  if (parts.length === 0) return
  const any = parts.map(({ part }) => `(${part})`).join('|')
  for (const found of text.matchAll(new RegExp(`(?<![${TOKEN}])(?:${any})`, 'giu'))) {
    const part = found.findIndex((group, at) => at > 0 && group !== undefined) - 1
    yield { begin: found.index, end: found.index + found[0].length, phrase: parts[part]?.number ?? 0 }
  }
}

function patternOf({ text, isPrefix }: Phrase): string {
  const words = text.match(new RegExp(`[${TOKEN}]+`, 'gu')) ?? []
  if (words.length === 0) return ''
  const end = isPrefix ? `[${TOKEN}]{0,${LONGEST_END}}` : `(?![${TOKEN}])`
  return words.map(patternOfWord).join(`[^${TOKEN}]+`) + end
}

/** Returns an expression for a word with any accents, because a folded text has those of Latin letters. */
function patternOfWord(word: string): string {
  return foldWord(word).replace(
    /[a-z\d]/g,
    (letter) => `[${letter}${ACCENTED.get(letter) ?? ''}][\\u0300-\\u036f]*`,
  )
}
