/** Separates words in a folded text that nothing separates in the original; texts contain no control characters. */
export const WORD_BREAK = '\u0003'
/**
 * A word before a character of a script without spaces that something separates from the previous one, such as a comma
 * or the end of a paragraph: no phrase continues there, except one with a separator.
 */
export const BARRIER = '\u0004'
const ADDED = new RegExp(`[${WORD_BREAK}${BARRIER}]`, 'g')

/** A text in the form in which the database compares words. */
export interface Folded {
  readonly text: string
  /** Parts that differ from the original in more than word breaks and barriers, in text order. */
  readonly changes: readonly Change[]
  /** Positions in the folded text of those asked for. */
  readonly positions: readonly number[]
}

/** Position and length of a part of a folded text in UTF-16 code units, and the original of the part. */
export type Change = readonly [at: number, length: number, original: string]

/** A text with the start and end of each match, in order, in UTF-16 code units. */
export interface MarkedText {
  readonly text: string
  readonly marks: readonly Mark[]
}

/** Start and end of a match. */
export type Mark = readonly [begin: number, end: number]

const ASCII = /^\p{ASCII}*$/u
/** Letters, digits, marks, and invisible characters such as soft hyphens; parts, because expressions have a stack. */
const RUN = /[\p{L}\p{N}\p{M}\p{Co}\p{Cf}]{1,1000}/gu
/** Letters with accents by the ASCII letter, in lower case, of which they consist. */
export const ACCENTED = accentedLetters()
/** Words that the tokenizer folds itself: ASCII letters with accents. */
const LATIN = new RegExp(`^[\\p{ASCII}\\u0300-\\u036f${[...ACCENTED.values()].join('')}]*$`, 'u')
/** Letters of which the tokenizer knows the lower case. */
const CASED = /^[\0-\u036f\u0386-\u0527]*$/

/** Characters of scripts that do not separate words, and of Hangul, whose compounds are often written together. */
const UNSPACED =
  '(?!\\p{M})[' +
  ['Han', 'Hira', 'Kana', 'Bopo', 'Hang', 'Yiii', 'Thai', 'Laoo', 'Khmr', 'Mymr'].map(scx).join('') +
  ['Tale', 'Talu', 'Lana', 'Tavt', 'Ahom', 'Java', 'Bali'].map(scx).join('') +
  ']'
/** Characters of them that folding does not change. */
const PLAIN = /^[\u3041-\u3096\u4e00-\u9fff\uac00-\ud7a3]*$/
/** Characters that belong to the one before: marks, the vowel AM, vowels and finals of Hangul, halfwidth voicing. */
const FOLLOWING =
  '(?:[\\p{M}\\p{Cf}\\u0e33\\u0eb3\\u1160-\\u11ff\\uff9e\\uff9f]|(?<=\\u0e4d)\\u0e32|(?<=\\u0ecd)\\u0eb2)'
/** UAX #15 finds no longer sequences in texts of any language. Sorting the marks of one takes quadratic time. */
const FEW = `${FOLLOWING}{0,30}`
const KATAKANA = '[\\u30a1-\\u30fa\\u30fc-\\u30fe\\u31f0-\\u31ff\\uff66-\\uff9d]'
/** The long mark after at least three characters of Katakana, which people write or omit: コンピューター. */
const LONG_END = `(?<=(?:${KATAKANA}[\\u3099\\u309a\\uff9e\\uff9f]?){3})[\\u30fc\\uff70](?!${KATAKANA})`
const LONG_ENDS = new RegExp(LONG_END, 'gu')
/** A character of a script without spaces, a word of another script or a part of it, or more of a sequence of marks. */
const PIECE = new RegExp(
  `(?<unspaced>${UNSPACED}${FEW}(?<long>${LONG_END})?)|(?<spaced>(?:(?!${UNSPACED}|${FOLLOWING})[^]${FEW}){1,100})|${FOLLOWING}{1,30}`,
  'gu',
)
const TOO_MANY_MARKS = /(?<=[\p{M}\p{Cf}\uff9e\uff9f]{30})[\p{M}\p{Cf}\uff9e\uff9f]+/gu
/** How much longer than a text its folded form may be, without word breaks, in addition to the text's length. */
const MAX_GROWTH = 1_000

/** Marks and characters that people omit. */
const OMITTED = new RegExp(
  `(?<!и)\\u0306|[${[
    // Accents; й is another letter than и.
    '\\u0300-\\u0305\\u0307-\\u036f',
    // Points of Hebrew, Arabic and Syriac, and the Arabic tatweel.
    '\\u0591-\\u05bd\\u05bf\\u05c1-\\u05c7\\u0610-\\u061a\\u0640\\u064b-\\u065f\\u0670\\u06d6-\\u06dc',
    '\\u06df-\\u06e8\\u06ea-\\u06ed\\u0711\\u0730-\\u074a\\u08d3-\\u08ff',
    // The nukta of Devanagari and Gurmukhi.
    '\\u093c\\u0a3c',
    '\\p{Cf}',
  ].join('')}]`,
  'gu',
)
/** Letters that people replace by others which Unicode does not derive from them. */
const REPLACED: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ð: 'd',
  đ: 'd',
  ħ: 'h',
  ı: 'i',
  ł: 'l',
  ς: 'σ',
}
const REPLACEABLE = new RegExp(`[${Object.keys(REPLACED).join('')}]`, 'gu')

function scx(script: string): string {
  return `\\p{scx=${script}}`
}

function accentedLetters(): ReadonlyMap<string, string> {
  const accented = new Map<string, string>()
  for (let code = 0xc0; code < 0x1f00; code++) {
    const letter = String.fromCodePoint(code)
    const [base = ''] = /^[a-z](?=[\u0300-\u036f]+$)/i.exec(letter.normalize('NFD')) ?? []
    if (base !== '') accented.set(base.toLowerCase(), (accented.get(base.toLowerCase()) ?? '') + letter)
  }
  return accented
}

/**
 * Folds words to what people type for them, and separates the characters of scripts that are written without spaces:
 * a phrase of them finds each word. A dictionary would divide a text and a query differently. The time is proportional
 * to the length of any text.
 *
 * @param text without control characters
 * @param asked positions in the text, in order
 */
export function foldText(text: string, asked: readonly number[] = []): Folded {
  if (ASCII.test(text)) return { text, changes: [], positions: asked }
  const changes: Change[] = []
  const positions: number[] = []
  let result = ''
  let at = 0
  let growth = 0
  let isUnspaced = false
  /** Adds the positions in a part of the text, which is appended next: of each code unit, `width` ones. */
  const locate = (from: number, to: number, length = to - from, width = 1): void => {
    for (let next = asked[positions.length]; next !== undefined && next < to; next = asked[positions.length])
      positions.push(result.length + Math.min((next - from) * width, length))
  }
  for (const { 0: run, index } of text.matchAll(RUN)) {
    locate(at, index)
    result += text.slice(at, index)
    const isAdjoining = index > 0 && index === at
    at = index + run.length
    if (ASCII.test(run) || LATIN.test(run)) {
      if (isAdjoining && isUnspaced) result += WORD_BREAK
      locate(index, at)
      result += run
      isUnspaced = false
      continue
    }
    if (PLAIN.test(run)) {
      if (isAdjoining) result += WORD_BREAK
      else if (isUnspaced) result += BARRIER + WORD_BREAK
      locate(index, at, 2 * run.length, 2)
      result += run.split('').join(WORD_BREAK)
      isUnspaced = true
      continue
    }
    for (const { 0: piece, index: begin, groups } of run.matchAll(PIECE)) {
      const isFirst = groups?.['unspaced'] !== undefined
      const isWord = isFirst || groups?.['spaced'] !== undefined
      if (begin > 0 || isAdjoining) result += isFirst || (isWord && isUnspaced) ? WORD_BREAK : ''
      else if (isFirst && isUnspaced) result += BARRIER + WORD_BREAK
      if (isWord) isUnspaced = isFirst
      const folded = foldWord(groups?.['long'] === undefined ? piece : piece.slice(0, -1))
      growth += Math.max(0, folded.length - piece.length)
      const isKept =
        growth > text.length + MAX_GROWTH || (CASED.test(piece) && folded === piece.toLowerCase())
      const other = isKept ? piece : folded
      locate(index + begin, index + begin + piece.length, other.length)
      if (other !== piece) changes.push([result.length, other.length, piece])
      result += other
    }
  }
  locate(at, Infinity)
  return { text: result + text.slice(at), changes, positions }
}

/** Folds a word of any script, without word breaks. */
export function foldWord(word: string): string {
  return word
    .replace(TOO_MANY_MARKS, '')
    .replace(LONG_ENDS, '')
    .normalize('NFKD')
    .toLowerCase()
    .replace(OMITTED, '')
    .replace(REPLACEABLE, (letter) => REPLACED[letter] ?? letter)
    .normalize('NFC')
}

/** Returns the original of a folded text, with its marks. A mark that begins or ends inside a change includes it. */
export function unfoldText({ text, marks }: MarkedText, changes: readonly Change[]): MarkedText {
  const borders = marks.flat()
  const moved: number[] = []
  let original = ''
  let at = 0
  const copy = (to: number): void => {
    original += text.slice(at, to).replace(ADDED, '')
    at = to
  }
  const copyMarked = (to: number): void => {
    for (let border = borders[moved.length]; border !== undefined && border <= to;) {
      copy(border)
      moved.push(original.length)
      border = borders[moved.length]
    }
    copy(to)
  }
  for (const [begin, length, before] of changes) {
    copyMarked(begin)
    const end = begin + length
    const isInside = (): boolean => (borders[moved.length] ?? Infinity) < end
    // Marks begin at even places and end at odd ones.
    while (isInside()) moved.push(original.length + (moved.length % 2 === 0 ? 0 : before.length))
    original += before
    at = end
  }
  copyMarked(text.length)
  return {
    text: original,
    marks: marks.map((_mark, number) => [moved[number * 2] ?? 0, moved[number * 2 + 1] ?? 0]),
  }
}
