import { fc } from '../../support/fast-check.ts'
import { expect, test } from 'vitest'
import { cutExcerpt, MARK_BEGIN, MARK_END } from '../../../src/content/search/excerpt.ts'

const mark = (text: string): string => text.replaceAll('[', MARK_BEGIN).replaceAll(']', MARK_END)
const marked = (text: string): readonly string[] => {
  const { text: shown, marks } = cutExcerpt(mark(text))
  return marks.map(([begin, end]) => shown.slice(begin, end))
}

test('an excerpt of a long text is around the matches, and ends between words', () => {
  const { text, at } = cutExcerpt(mark(`${'before '.repeat(200)}the [word] here ${'after '.repeat(200)}`))
  expect(text).toMatch(/^… before .*the word here after .*after …$/)
  expect(at).toBe(7 * 200 + 4)
})

test('an excerpt has the most distinct words', () => {
  const filler = 'x '.repeat(300)
  expect(marked(`[one] [one] [one] ${filler}[two] and [one] ${filler}[two]`)).toEqual(['two', 'one'])
})

test('a text without matches is shown from its start', () => {
  expect(cutExcerpt('short')).toEqual({ text: 'short', marks: [], at: undefined })
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
      const { text, marks } = cutExcerpt(
        mark(clean.map(([each, isFound]) => (isFound ? `[${each}]` : each)).join('')),
      )
      expect(text.length).toBeLessThanOrEqual(244)
      expect(text.isWellFormed() || !clean.every(([each]) => each.isWellFormed())).toBe(true)
      const shown = marks.map(([begin, end]) => text.slice(begin, end))
      expect(words.join('\0')).toContain(shown.join('\0'))
    }),
  )
})
