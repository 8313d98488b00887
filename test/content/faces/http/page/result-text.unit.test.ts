import { expect, test } from 'vitest'
import { matchesWords } from '../../../../../src/content/faces/http/page/result-text.ts'

test.each([
  ['Größe ＡＰＩ', 'grosse api'],
  ['naïve', 'NAIVE'],
  ['naïve'.normalize('NFD'), 'naïve'.normalize('NFC')],
  ['naive', 'naïve'],
  ['コンピュータ入門', 'コンピューター'],
  ['ｶﾞｲﾄﾞ', 'ガイド'],
  ['Ёлка и зима', 'елка'],
  ['使用数据库', '数据'],
  ['foo\u00adbar', 'foobar'],
  ['anything', '  '],
])('a repository described as "%s" is shown for "%s", as the search finds words', (text, words) => {
  expect(matchesWords(text, words)).toBe(true)
})

test.each([
  ['йод', 'иод'],
  ['使用数据。库存', '数据库'],
  ['one two', 'one three'],
])('a repository described as "%s" is hidden for "%s"', (text, words) => {
  expect(matchesWords(text, words)).toBe(false)
})
