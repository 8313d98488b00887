import { expect, test } from 'vitest'
import { charsetOf } from '../../../src/content/page/charset.ts'
import { CHARSET_TEXTS } from '../../support/content/charset-texts.ts'

const HTML = 'text/html'
const bytesOf = (text: string): Buffer => Buffer.from(text, 'latin1')

test.each(CHARSET_TEXTS)('the character set of %j, %s, is %s', (text, mediaType, expected) => {
  expect(charsetOf(bytesOf(text), mediaType)).toBe(expected)
})

test('UTF-8 is recognized from the beginning of a text, wherever it is cut', () => {
  const bytes = Buffer.from(`aü€😀${'x'.repeat(5)}😀€ü`)
  for (let size = 0; size <= bytes.length; size++)
    expect(charsetOf(bytes.subarray(0, size), HTML, false)).toBe('utf-8')
  expect(charsetOf(bytesOf('abc\xfcdef'), HTML, false)).toBeUndefined()
})
