import { expect, test } from 'vitest'
import { decodeText } from '../../../src/content/page/decode-text.ts'

const HTML = 'text/html'
const bytesOf = (text: string): Buffer => Buffer.from(text, 'latin1')

test.each([
  ['<meta charset=windows-1252>\x80 \x93', '€ “', false],
  ['<meta charset=shift_jis>\x8e\xe8\x8f\x87', '手順', false],
  ['<meta charset=windows-1251>\xca\xeb\xfe\xf7', 'Ключ', false],
  ['<meta charset=gb18030>\x81\x30\x84\x36', '¥', false],
  ['<meta charset=euc-kr>\x8c\x63\xb9\xe6\xc6\x52', '똠방힣', false],
  ['<meta charset=ks_c_5601-1987>\x81\x41\xa2\xe6', '갂€', false],
  ['<meta charset=big5>\x88\x62\xa3\xe1', 'Ê̄€', false],
  ['<meta charset=windows-1252>\x81\x8d\x8f\x90\x9d', '\x81\x8d\x8f\x90\x9d', false],
  ['<meta charset=euc-kr>\xff', '\ufffd', true],
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
