import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { foldText } from '../../../src/content/search/fold.ts'
import { matchesOf, toPhrase } from '../../../src/content/search/phrase.ts'
import { SearchDatabase } from '../../../src/content/search/search-database.ts'
import { formatIndex } from '../../../src/content/search/search-index.ts'
import { tempDir } from '../../support/temp-dir.ts'

/** Close to the longest line of an index. Copying the text for each match would take many minutes. */
const SIZE = 4_000_000

test.each([
  ['ｱ ', 'ア'],
  ['的', '的'],
  ['的漢', '的漢'],
  ['ﷺ ', 'الله'],
  ['é ', 'e'],
  ['a ', 'a missing'],
  ['ё ', 'ё ж'],
])('a page that consists of %j is searched for "%s" in linear time', async (piece, query) => {
  const database = SearchDatabase.open(join(tempDir(), 'search.db'), 64_000_000)
  onTestFinished(() => database.close())
  const title = 'missing ж'
  const from = join(tempDir(), 'index')
  const page = { path: 'a.html', title, text: piece.repeat(SIZE / piece.length), sections: [] }
  writeFileSync(from, await textOf(formatIndex([page])))
  expect(await database.replace('a', '"1"', from)).toMatchObject({ problem: null })
  const { total, pages } = database.find(['a'], query, 20, 0)
  expect(total).toBe(1)
  expect(pages[0]?.excerpt.marks.length).toBeGreaterThan(1)
})

test.each(['漢', 'あ', 'a.'])('a long phrase of %j is marked in a long page of it', (piece) => {
  const words = piece.repeat(190)
  const text = foldText(`${piece.repeat(500_000)}${words}字`).text
  expect([...matchesOf(text, [toPhrase(`${words}字`, true)])]).toHaveLength(1)
})
