import { isUtf8 } from 'node:buffer'
import { expect, test } from 'vitest'
import {
  bytesFromText,
  decodePath,
  decodeUrlPart,
  encodedPath,
  shownPath,
  textFromBytes,
} from '../../src/workspace/path-text.ts'
import { fc } from '../support/fast-check.ts'
import { rounds } from '../support/rounds.ts'
import { answeredBytes } from '../support/workspace/odd-names.ts'

/** Bytes near those at which UTF-8 sequences begin, continue and end. */
const bytes = fc
  .array(
    fc.oneof(
      fc.integer({ min: 0, max: 255 }).map((byte) => Buffer.of(byte)),
      fc.string({ unit: 'binary', maxLength: 3 }).map((text) => Buffer.from(text)),
      fc
        .tuple(
          fc.constantFrom(0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xed, 0xef, 0xf0, 0xf4, 0xf5),
          fc.uint8Array({ maxLength: 3 }),
        )
        .map(([lead, rest]) => Buffer.from([lead, ...rest.map((byte) => 0x80 | (byte & 0x3f))])),
    ),
  )
  .map((parts) => Buffer.concat(parts))
const options = { numRuns: rounds(500, 50_000) }

test('the text of any bytes has these bytes, and that of UTF-8 is its own', () => {
  fc.assert(
    fc.property(bytes, (given) => {
      const text = textFromBytes(given)
      expect(bytesFromText(text)).toEqual(given)
      expect(text.isWellFormed()).toBe(isUtf8(given))
      if (isUtf8(given)) expect(text).toBe(given.toString())
    }),
    options,
  )
})

test('exactly the bytes that no UTF-8 sequence contains are escaped', () => {
  fc.assert(
    fc.property(bytes, (given) => {
      const parts = textFromBytes(given).split(/[\uDC80-\uDCFF]+/u)
      expect(parts.every((part) => part.isWellFormed())).toBe(true)
      const decoded = given.toString().replaceAll('\uFFFD', '')
      expect(parts.join('').replaceAll('\uFFFD', '')).toBe(decoded)
    }),
    options,
  )
})

test('the encoded form has all bytes, and exists only for what is not UTF-8', () => {
  fc.assert(
    fc.property(bytes, (given) => {
      const text = textFromBytes(given)
      const encoded = encodedPath(text)
      expect(encoded === undefined).toBe(isUtf8(given))
      expect(shownPath(text).isWellFormed()).toBe(true)
      if (encoded === undefined) expect(shownPath(text)).toBe(text)
      else {
        expect(answeredBytes('', encoded)).toBe(given.toString('latin1'))
        expect(decodePath(encoded)).toBe(text)
        expect(decodeUrlPart(encoded)).toBe(text)
      }
    }),
    options,
  )
})

test.each(['%', 'a%', '%E', '%E9%', '%G0', '% 9'])('an encoded path must not be %j', (encoded) => {
  expect(() => decodePath(encoded)).toThrow(/without two hexadecimal digits/)
})

test('text in an encoded path is itself', () => {
  expect(decodePath('é 日本😀/%C3%A9%25')).toBe('é 日本😀/é%')
})
