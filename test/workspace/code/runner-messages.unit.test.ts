import { fc } from '../../support/fast-check.ts'
import { expect, test } from 'vitest'
import { MessageReader } from '../../../src/workspace/code/runner-messages.ts'

const MARK = 'a1b2'
const frame = (text: string, end = '.'): string => `\0${MARK}${end}${text}\0`
const message = { type: 'mark', run: 3 }

/** Reads chunks; returns the output and the messages among it. */
function read(chunks: readonly Buffer[], mark = MARK) {
  const reader = new MessageReader(mark)
  const parts = chunks.flatMap((chunk) => [...reader.read(chunk)])
  const output = parts
    .map((part) => (part.is === 'output' ? part.bytes.toString('latin1') : '\0M\0'))
    .join('')
  return { output, messages: parts.flatMap((part) => (part.is === 'message' ? [part.message] : [])) }
}

/** Splits bytes at the given places. */
function split(bytes: Buffer, places: readonly number[]): readonly Buffer[] {
  const ends = [...new Set(places.map((place) => place % (bytes.length + 1)))].toSorted((a, b) => a - b)
  return [...ends, bytes.length].map((end, at) => bytes.subarray(ends[at - 1] ?? 0, end))
}

test('messages and output are separated, however they are cut', () => {
  // Also starts of marks that are none.
  const output = fc.array(fc.constantFrom('x', '\0', '\0a', '\0a1', 'a1', 'é\n'), { maxLength: 8 })
  const pieces = fc.constantFrom([JSON.stringify(message)], ['{"type":"ma', 'rk","run"', ':3}'])
  const part = fc.oneof(
    output.map((texts) => ({ text: texts.join(''), is: 'output' as const })),
    pieces.map((each) => ({
      text: each.map((piece, at) => frame(piece, at === each.length - 1 ? '.' : '+')).join(''),
      is: 'message' as const,
    })),
  )
  fc.assert(
    fc.property(fc.array(part), fc.array(fc.nat()), (parts, places) => {
      const expected = parts.map(({ text, is }) => (is === 'output' ? text : '\0M\0')).join('')
      const found = read(split(Buffer.from(`${parts.map(({ text }) => text).join('')}x`, 'latin1'), places))
      expect(found.output).toBe(`${expected}x`)
      expect(found.messages).toEqual(parts.filter(({ is }) => is === 'message').map(() => message))
    }),
  )
})

test('no bytes make the reader fail other than by its own errors', () => {
  const hostile = fc.array(
    fc.oneof(
      fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
      fc.json().map((text) => Buffer.from(frame(text))),
      fc.constantFrom('', '+', '{}', '{"type":"end","run":1e99}').map((text) => Buffer.from(frame(text, ''))),
    ),
  )
  fc.assert(
    fc.property(hostile, (chunks) => {
      try {
        read(chunks)
      } catch (error) {
        expect(String(error)).toMatch(/^Error: a (?:piece of a )?message is (?:too large|not valid)$/)
      }
    }),
  )
})

test('messages that do not match the schema, or are too large, are errors', () => {
  for (const text of [
    '',
    'null',
    '[]',
    '{"type":"other"}',
    '{"type":"mark","run":"1"}',
    '{"type":"mark","run":-1}',
    '{"type":"result","run":1,"data":{"text/plain":1},"isValue":true}',
    '{"type":"end","run":1,"count":1,"error":{"name":"x"}}',
    `{"type":"ready","version":"${'1'.repeat(50)}"}`,
  ])
    expect(() => read([Buffer.from(frame(text))])).toThrow('not valid')
  expect(() => read([Buffer.from(`\0${MARK}+${'x'.repeat(9_000)}`)])).toThrow('too large')
  const piece = Buffer.from(frame('x'.repeat(8_000), '+'))
  expect(() => read(Array.from({ length: 2_200 }, () => piece))).toThrow('too large')
})
