import { expect, test } from 'vitest'
import { readPageText } from '../../../src/content/search/page-text.ts'

/** Pages of the maximum length; each took 10 to 18 seconds when each piece of text copied all text before it. */
const PAGES = 30

test.each([
  ['headings', '<h2>你</h2>'],
  ['references', '&amp;'],
])('the text of pages with hundreds of thousands of %s is read', (_, piece) => {
  const html = piece.repeat(200_000)
  for (let page = 0; page < PAGES; page++) expect(readPageText(html).text.length).toBeGreaterThan(199_990)
})
