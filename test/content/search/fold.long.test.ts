import { expect, test } from 'vitest'
import { foldText, foldWord, unfoldText } from '../../../src/content/search/fold.ts'

/** Quadratic steps on it would take hours. */
const SIZE = 1_000_000

test.each([
  ['marks', '漢', '\u0300'],
  ['invisible characters', '漢', '\u200b'],
  ['vowels of Hangul', 'ᄀ', '\u1161'],
  ['vowels of Thai in two parts', '漢', '\u0e4d\u0e32'],
  ['vowels of Thai', 'ก', '\u0e33'],
  ['halfwidth voicing', 'ｶ', '\uff9e'],
  ['marks of alternating classes', 'ж', '\u0301\u0323'],
  ['marks alone', '', '\u093f'],
  ['marks of a Latin letter', 'a', '\u0323\u0301'],
  ['letters of a script with spaces', '', 'ж'],
  ['characters of a script without spaces', '', 'กี'],
  ['changes between kinds of scripts', '', '漢жaé'],
])('a text of a million %s does not stop the search', (_, first, repeated) => {
  const text = first + repeated.repeat(SIZE / repeated.length)
  const { text: folded, changes } = foldText(text)
  expect(unfoldText({ text: folded, marks: [] }, changes).text === text).toBe(true)
  foldWord(text)
})

test.each(['\u0301', '\u0e31', 'ﾞ'])('marks are not sorted in quadratic time, after %j', (mark) => {
  const text = `ж${mark.repeat(SIZE)}${'\u0323'.repeat(SIZE)}`
  const { text: folded, changes } = foldText(text)
  expect(unfoldText({ text: folded, marks: [] }, changes).text === text).toBe(true)
  foldWord(text)
})
