import { expect, test } from 'vitest'
import { foldText } from '../../../src/content/search/fold.ts'
import { matchesOf, toPhrase } from '../../../src/content/search/phrase.ts'

/** Returns the matches of words, of which the last may be the start of a word, as they are written. */
function matched(text: string, ...words: readonly string[]): readonly string[] {
  const folded = foldText(text).text
  const phrases = words.map((word, at) => toPhrase(word, at === words.length - 1))
  return [...matchesOf(folded, phrases)].map(
    ({ begin, end, phrase }) => `${phrase} ${folded.slice(begin, end)}`,
  )
}

test.each([
  ['a b a.b ab', ['a.b'], ['0 a b', '0 a.b']],
  ['a a a b', ['a.a.b'], ['0 a a b']],
  ['node.js nodejs node js', ['node', 'node.j'], ['1 node.js', '1 node js']],
  ['Café CAFE cafés', ['cafe'], ['0 Café', '0 CAFE', '0 cafés']],
  ['foobar foo barfoo', ['foo', 'x'], ['0 foo']],
  ['', ['a'], []],
])('in %j, the words %j are %j', (text, words, expected) => {
  expect(matched(text, ...words)).toEqual(expected)
})

test('phrases of any length are found, also when their words repeat', () => {
  for (const piece of ['z1', 'a.', '漢', 'e']) {
    const word = piece.repeat(5_000)
    expect(matched(`x ${word}q ${word}`, `${word}q`)).toHaveLength(1)
  }
})
