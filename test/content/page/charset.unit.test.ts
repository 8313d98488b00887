import { expect, test } from 'vitest'
import { charsetOf, decodeText } from '../../../src/content/page/charset.ts'
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

test.each([
  ['<meta charset=windows-1252>\x80 \x93', '€ “', false],
  ['<meta charset=shift_jis>\x8e\xe8\x8f\x87', '手順', false],
  ['<meta charset=windows-1251>\xca\xeb\xfe\xf7', 'Ключ', false],
  ['<meta charset=gb18030>\x81\x30\x84\x36', '¥', false],
  ['\xff\xfe\xfc\x00', 'ü', false],
  ['\xef\xbb\xbf\xc3\xbc', 'ü', false],
  ['\xfcber', 'über', true],
  ['<meta charset=utf-8>\xfc', '\ufffd', true],
  ['<meta charset=iso-8859-1>\xc3\xbc', 'Ã¼', true],
  ['<meta charset=shift_jis>\x8e', '\ufffd', true],
])('%j is decoded as %j, and doubtful: %j', (written, text, isDoubtful) => {
  const decoded = decodeText(bytesOf(written), HTML)
  expect([decoded.text.replace(/<.*?>/, ''), decoded.isDoubtful]).toEqual([text, isDoubtful])
})
