import { expect, test } from 'vitest'
import { escapeMarkup } from '../../../src/lib/markup/escape.ts'

test('escapeMarkup escapes markup and leaves other text unchanged', () => {
  expect(escapeMarkup(`<a href="x" title='y'>R&D</a>`)).toBe(
    '&lt;a href=&quot;x&quot; title=&#39;y&#39;&gt;R&amp;D&lt;/a&gt;',
  )
  expect(escapeMarkup('größer als 3 \u{1F600}\n')).toBe('größer als 3 \u{1F600}\n')
})
