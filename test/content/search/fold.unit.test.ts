import { expect, test } from 'vitest'
import { BARRIER, foldText, foldWord, unfoldText, WORD_BREAK } from '../../../src/content/search/fold.ts'
import { fc } from '../../support/fast-check.ts'

const ADDED = new RegExp(`[${WORD_BREAK}${BARRIER}]`, 'g')

/** Words as people type them and as pages contain them: a browser finds the first in the second. */
const FOUND: readonly (readonly [typed: string, written: string])[] = [
  ['api', 'ＡＰＩ'],
  ['ガイド', 'ｶﾞｲﾄﾞ'],
  ['file', 'ﬁle'],
  ['strasse', 'Straße'],
  ['STRASSE', 'Straße'],
  ['Łódź', 'lodz'],
  ['smorrebrod', 'Smørrebrød'],
  ['naïve', 'nai\u0308ve'],
  ['donaudampf', 'Donau\u00addampf'],
  ['ελληνικα', 'Ελληνικά'],
  ['ΟΔΟΣ', 'οδός'],
  ['елка', 'Ёлка'],
  ['שלום', 'שָׁלוֹם'],
  ['مرحبا', 'مَرْحَبًا'],
  ['كتاب', 'كـتـاب'],
  ['नबर', 'ऩबर'],
  ['설치', '설치'.normalize('NFD')],
  ['กำ', 'กํา'],
  ['ქართული', 'ᲥᲐᲠᲗᲣᲚᲘ'],
]

test.each(FOUND)('%s and %s are the same word, as in a browser', (typed, written) => {
  expect(foldWord(typed)).toBe(foldWord(written))
  const collator = new Intl.Collator('und', { sensitivity: 'base', ignorePunctuation: true })
  expect(collator.compare(typed, written)).toBe(0)
})

test('letters that differ in more than a mark stay different', () => {
  const words = ['и', 'й', 'か', 'が', 'カ', 'ก', 'กี', 'क', 'कि', 'ა']
  expect(new Set(words.map(foldWord)).size).toBe(words.length)
})

test('a folded text has its original, and marks cover whole parts of it', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      '编译器',
      'ติดตั้ง',
      'กำ',
      '설치',
      'Straße',
      'ｶﾞ',
      'שָׁ',
      'ﷺ',
      '½',
      '\u00ad',
      '\u200b',
      ' ',
      'v2',
    ),
    fc.string({ unit: 'grapheme', maxLength: 5 }),
  )
  fc.assert(
    fc.property(
      fc.array(piece, { maxLength: 20 }),
      fc.array(fc.nat(200), { maxLength: 10 }),
      (pieces, at) => {
        const text = pieces.join('').replace(/\p{Cc}/gu, '')
        const folded = foldText(text)
        const borders = [...new Set(at.filter((each) => each <= folded.text.length))].toSorted(
          (a, b) => a - b,
        )
        const marks = borders.flatMap((begin, number) => {
          const end = borders[number + 1]
          return number % 2 === 1 || end === undefined ? [] : [[begin, end] as const]
        })
        const found = unfoldText({ text: folded.text, marks }, folded.changes)
        expect(found.text).toBe(text)
        const shown = found.marks.flat()
        expect(shown).toEqual(shown.toSorted((a, b) => a - b))
        for (const [number, [begin, end]] of marks.entries()) {
          const [from, to] = found.marks[number] ?? [0, 0]
          const bare = (part: string): string => foldWord(part).replace(ADDED, '')
          expect(bare(text.slice(from, to))).toContain(bare(folded.text.slice(begin, end)))
        }
        expect(foldWord(foldWord(text))).toBe(foldWord(text))
      },
    ),
  )
})

test('compatibility forms of many characters do not multiply a text', () => {
  for (const piece of ['ﷺ ', 'ﷺ', '㍿', '½ ', '㎯x']) {
    const text = piece.repeat(10_000)
    const { text: folded, changes } = foldText(text)
    expect(folded.length).toBeLessThan(3 * text.length + 2_000)
    expect(unfoldText({ text: folded, marks: [] }, changes).text).toBe(text)
  }
})

test.each([
  ['コンピュータ', 'コンピューター'],
  ['ﾌｫﾙﾀﾞｰ', 'フォルダ'],
  ['サーバ', 'ｻｰﾊﾞｰ'],
  ['フォルダー', 'フォルダー'.normalize('NFD')],
])('%s and %s are the same word in Japanese', (one, other) => {
  expect(foldWord(one)).toBe(foldWord(other))
  expect(foldText(`${one}と`).text).toBe(foldText(`${other}と`).text)
})

test('a long mark of Katakana inside a word or after a short one is kept', () => {
  for (const word of ['コピー', 'カー', 'ｷｰ', 'サーバ', 'コンピューティング', 'らーめんー'])
    expect(foldWord(word)).toBe(word.normalize('NFKC'))
})
