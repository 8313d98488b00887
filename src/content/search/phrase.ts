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
const ONE_WORD = new RegExp(`[${TOKEN}]+`, 'uy')
const WORDS = new RegExp(`[${TOKEN}]+`, 'gu')
const OTHERS = new RegExp(`[^${TOKEN}]*`, 'uy')
/** The part of a word by which places in a text are found. */
const BEGINNING = /^.{0,20}/su

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
 * Yields the matches of phrases in a folded text in order, as the database finds them; of phrases that begin at the same
 * word, the longest. The database itself would copy the text for each match (`highlight`).
 */
export function* matchesOf(text: string, phrases: readonly Phrase[]): Generator<Match> {
  const ids = new Map<string, number>()
  const wanted = phrases
    .map((phrase, number) => ({ number, ...wordsOf(phrase, ids) }))
    .filter(({ words }) => words.length > 0)
    .toSorted((a, b) => b.words.length - a.words.length || b.last.length - a.last.length)
  if (wanted.length === 0) return
  const beginnings = wanted.map(({ words: [first = ''] }) => patternOf(first))
  const tokens = new Tokens(text, ids)
  let from = 0
  for (const { index } of text.matchAll(new RegExp(`(?<![${TOKEN}])(?:${beginnings.join('|')})`, 'giu'))) {
    if (index < from) continue
    const at = tokens.indexAt(index)
    const match = wanted.find((phrase) => tokens.areAt(at, phrase))
    if (match === undefined) continue
    from = tokens.endOf(at + match.words.length - 1)
    yield { begin: index, end: from, phrase: match.number }
  }
}

/** Words of a phrase, as texts and as numbers. */
interface WantedWords {
  readonly words: readonly string[]
  readonly ids: readonly number[]
  readonly last: string
  readonly isPrefix: boolean
}

function wordsOf({ text, isPrefix }: Phrase, known: Map<string, number>): WantedWords {
  const words = (text.match(WORDS) ?? []).map(foldWord)
  const ids = words.map((word) => {
    const id = known.get(word) ?? known.size
    known.set(word, id)
    return id
  })
  return { words, ids, last: words.at(-1) ?? '', isPrefix }
}

/** Words of a text from a position on, read as far as they are compared. */
class Tokens {
  readonly #text: string
  readonly #ids: ReadonlyMap<string, number>
  #begins: number[] = []
  #ends: number[] = []
  /** Numbers of the words of phrases; -1 for others. */
  #numbers: number[] = []
  #words: string[] = []
  /** Index of the last word that was asked for. */
  #at = 0

  constructor(text: string, ids: ReadonlyMap<string, number>) {
    this.#text = text
    this.#ids = ids
  }

  /** Returns the index of the word that begins at a position after the last one. */
  indexAt(begin: number): number {
    while (this.#at < this.#begins.length && (this.#begins[this.#at] ?? 0) < begin) this.#at++
    if (this.#at === this.#begins.length) {
      this.#begins = []
      this.#ends = []
      this.#numbers = []
      this.#words = []
      this.#at = 0
      this.#read(begin)
    }
    return this.#at
  }

  endOf(at: number): number {
    return this.#ends[at] ?? this.#text.length
  }

  /** Whether the words of a phrase follow each other from an index on. */
  areAt(at: number, { ids, last, isPrefix }: WantedWords): boolean {
    const end = ids.length - 1
    for (let next = 0; next <= end; next++) {
      if (at + next === this.#begins.length && !this.#read(this.#after())) return false
      if (next === end && isPrefix) return this.#words[at + next]?.startsWith(last) === true
      if (this.#numbers[at + next] !== ids[next]) return false
    }
    return true
  }

  #after(): number {
    OTHERS.lastIndex = this.#ends.at(-1) ?? 0
    OTHERS.test(this.#text)
    return OTHERS.lastIndex
  }

  #read(begin: number): boolean {
    ONE_WORD.lastIndex = begin
    const [word] = ONE_WORD.exec(this.#text) ?? []
    if (word === undefined) return false
    const folded = foldWord(word)
    this.#begins.push(begin)
    this.#ends.push(begin + word.length)
    this.#words.push(folded)
    this.#numbers.push(this.#ids.get(folded) ?? -1)
    return true
  }
}

/** Returns an expression for the beginning of a word with any accents, because a folded text has those of Latin letters. */
function patternOf(word: string): string {
  return (BEGINNING.exec(word)?.[0] ?? '').replace(
    /[a-z\d]/g,
    (letter) => `[${letter}${ACCENTED.get(letter) ?? ''}][\\u0300-\\u036f]*`,
  )
}
