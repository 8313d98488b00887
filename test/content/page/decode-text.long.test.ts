import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { decode } from '../../../src/content/page/decode-text.ts'
import { openPage } from '../../support/browser/chromium.ts'

const PAIRED = ['euc-kr', 'big5', 'shift_jis', 'euc-jp', 'gbk', 'gb18030', 'iso-2022-jp']
const SINGLE = [
  ...[1250, 1251, 1252, 1253, 1254, 1255, 1256, 1257, 1258, 874].map((page) => `windows-${page}`),
  ...[2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16].map((part) => `iso-8859-${part}`),
  'iso-8859-8-i',
  'koi8-r',
  'koi8-u',
  'macintosh',
  'x-mac-cyrillic',
  'ibm866',
]
/** The standard has two code points for each; Chromium joins them to one that is wrong. */
const WRONG_IN_CHROMIUM = new Set(['big5 8862', 'big5 8864', 'big5 88a3', 'big5 88a5'])

const BYTES = Array.from({ length: 256 }, (_, at) => at)
const PAIRS = BYTES.slice(0x80).flatMap((first) => BYTES.map((second) => [first, second]))
const inputsOf = (charset: string): readonly (readonly number[])[] => [
  ...BYTES.map((byte) => [byte]),
  ...(PAIRED.includes(charset) ? PAIRS : []),
  ...(charset === 'euc-jp' ? PAIRS.map((pair) => [0x8f, ...pair]) : []),
]

test('every byte and pair of bytes is decoded as a browser does', async () => {
  const server = createServer((_request, response) => response.end('<p>x')).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const page = await openPage(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  for (const charset of [...PAIRED, ...SINGLE]) {
    const inputs = inputsOf(charset)
    // Code units, because a browser may yield half a pair of surrogates.
    const expected = await page.evaluate<readonly (readonly number[])[]>(
      `${JSON.stringify(inputs)}.map((bytes) => {
        const text = new TextDecoder('${charset}').decode(Uint8Array.from(bytes))
        return Array.from({ length: text.length }, (_, at) => text.charCodeAt(at))
      })`,
    )
    const different = inputs.flatMap((input, at) => {
      const bytes = Buffer.from(input)
      const isSame = decode(bytes, charset) === String.fromCharCode(...(expected[at] ?? []))
      const written = `${charset} ${bytes.toString('hex')}`
      return isSame || WRONG_IN_CHROMIUM.has(written) ? [] : [written]
    })
    expect(different).toEqual([])
  }
})
