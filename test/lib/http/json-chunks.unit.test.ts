import { text } from 'node:stream/consumers'
import { fc } from '../../support/fast-check.ts'
import { expect, test } from 'vitest'
import { isLargeJson, jsonChunks, jsonStream } from '../../../src/lib/http/json-chunks.ts'

test('the pieces are what JSON.stringify returns', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect([...jsonChunks(value)].join('')).toBe(JSON.stringify(value))
    }),
  )
})

test('fields without a value are left out, and such elements are null', () => {
  const value = { a: undefined, b: [undefined, { c: undefined, d: {} }], e: { f: undefined } }
  expect([...jsonChunks(value)].join('')).toBe(JSON.stringify(value))
})

test('a large value arrives in pieces, while timers run', { tags: ['long'] }, async () => {
  const value = Array.from({ length: 200_000 }, (_, id) => ({
    id,
    inner: { name: 'ü'.repeat(8), children: [] },
  }))
  const pieces = [...jsonChunks(value)]
  expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThan(70_000)
  let ticks = 0
  const timer = setInterval(() => ticks++, 1)
  const sent = await text(jsonStream(value))
  clearInterval(timer)
  expect(sent).toBe(JSON.stringify(value))
  expect(ticks).toBeGreaterThan(3)
})

test.each([
  [null, false],
  ['x'.repeat(100_000), false],
  [{ list: Array.from({ length: 4_000 }, (_, i) => i) }, false],
  [{ list: Array.from({ length: 1_000 }, () => ({ a: 1 })) }, false],
  [Array.from({ length: 5_000 }, () => ({})), true],
  [Array.from({ length: 5_000 }).reduce<object>((inner) => ({ inner }), {}), true],
])('a value is large by its number of objects', (value, isLarge) => {
  expect(isLargeJson(value)).toBe(isLarge)
})
