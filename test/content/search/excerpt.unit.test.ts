import { fc } from '../../support/fast-check.ts'
import { expect, test } from 'vitest'
import { cutExcerpt, formatChanges } from '../../../src/content/search/excerpt.ts'
import { foldText } from '../../../src/content/search/fold.ts'
import { matchesOf, toPhrase } from '../../../src/content/search/phrase.ts'

/** Cuts an excerpt of a text in which each match is in brackets; equal ones are the same phrase. */
function cut(text: string) {
  const matches = []
  const phrases: string[] = []
  let plain = ''
  for (const [number, piece] of text.split(/[[\]]/).entries()) {
    if (number % 2 === 1) {
      if (!phrases.includes(piece)) phrases.push(piece)
      matches.push({ begin: plain.length, end: plain.length + piece.length, phrase: phrases.indexOf(piece) })
    }
    plain += piece
  }
  return cutExcerpt(plain, '', matches, phrases.length)
}
const marked = (text: string): readonly string[] => {
  const { text: shown, marks } = cut(text)
  return marks.map(([begin, end]) => shown.slice(begin, end))
}

test('an excerpt of a long text is around the matches, and ends between words', () => {
  const { text, at } = cut(`${'before '.repeat(200)}the [word] here ${'after '.repeat(200)}`)
  expect(text).toMatch(/^… before .*the word here after .*after …$/)
  expect(at).toBe(7 * 200 + 4)
})

test('an excerpt has the most distinct words', () => {
  const filler = 'x '.repeat(300)
  expect(marked(`[one] [one] [one] ${filler}[two] and [one] ${filler}[two]`)).toEqual(['two', 'one'])
})

test('a text without matches is shown from its start', () => {
  expect(cut('short')).toEqual({ text: 'short', marks: [], at: undefined })
})

test('the marks of any text are its matches in order, and the excerpt is short', () => {
  const piece = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 30 }),
    fc.constant(' '),
    fc.constant('long'.repeat(40)),
  )
  fc.assert(
    fc.property(fc.array(fc.tuple(piece, fc.boolean()), { maxLength: 60 }), (pieces) => {
      const clean = pieces.map(([text, isFound]) => {
        const plain = text.replace(/[\p{Cc}[\]]/gu, '.')
        return [isFound ? `w${plain.replace(/\s/g, '.')}` : plain, isFound] as const
      })
      const words = clean.filter(([, isFound]) => isFound).map(([text]) => text)
      const { text, marks } = cut(clean.map(([each, isFound]) => (isFound ? `[${each}]` : each)).join(''))
      expect(text.length).toBeLessThanOrEqual(244)
      expect(text.isWellFormed() || !clean.every(([each]) => each.isWellFormed())).toBe(true)
      const shown = marks.map(([begin, end]) => text.slice(begin, end))
      expect(words.join('\0')).toContain(shown.join('\0'))
    }),
  )
})

test('an excerpt of a folded text is as it was written, at any place in the text', () => {
  const piece = fc.constantFrom(
    '编译器',
    'กำ',
    'Straße ',
    'ｶﾞ',
    'שָׁ',
    'ﷺ ',
    '½',
    '\u00ad',
    ' ',
    'é ',
    'Ёж ',
    'x',
    '𠮷',
    'и\u0306',
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 400 }), fc.array(piece, { maxLength: 400 }), (before, after) => {
      const text = `${before.join('').repeat(5)} Größe ${after.join('').repeat(5)}`.replace(/^ /, '')
      const { text: folded, changes } = foldText(text)
      const phrases = [toPhrase('grosse', false)]
      const excerpt = cutExcerpt(folded, formatChanges(changes), matchesOf(folded, phrases), phrases.length)
      const shown = excerpt.text.replace(/^… /, '').replace(/ …$/, '')
      expect(text).toContain(shown)
      expect(excerpt.marks.map(([begin, end]) => excerpt.text.slice(begin, end))).toContain('Größe')
      expect(excerpt.text.length).toBeLessThanOrEqual(244)
    }),
  )
})

test('an excerpt reads only the matches that it may show', () => {
  const matches = function* () {
    for (let begin = 0; ; begin += 10) {
      expect(begin).toBeLessThan(1_000)
      yield { begin, end: begin + 4, phrase: 0 }
    }
  }
  const { marks } = cutExcerpt('word then '.repeat(20_000), '', matches(), 1)
  expect(marks.length).toBe(24)
})
