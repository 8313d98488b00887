import { expect, test } from 'vitest'
import {
  append,
  emptyBuffer,
  filtered,
  hitsOf,
  MAX_CHARACTERS,
  MAX_LINES,
} from '../../../../../src/supervisor/faces/cli/top/state/lines.ts'

const entries = (count: number, text: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => ({
    timestamp: '2026-01-01T00:00:00.000Z',
    process: 'web',
    stream: 'stdout',
    line: text(at),
  }))

test('a long session keeps the newest lines, and those of them that match', () => {
  let buffer = filtered(emptyBuffer(), '7')
  for (let round = 0; round < 5; round++)
    buffer = append(
      buffer,
      entries(4_000, (at) => `line ${at}`),
    )
  expect(buffer.lines).toHaveLength(MAX_LINES)
  expect(buffer.lines.at(-1)).toMatchObject({ key: 19_999, text: 'line 3999' })
  expect(buffer.matching).toEqual(buffer.lines.filter(({ text }) => text.includes('7')))
})

test('long lines are limited by their characters', () => {
  const buffer = append(
    emptyBuffer(),
    entries(1_000, () => 'x'.repeat(16_384)),
  )
  const size = buffer.lines.reduce((sum, { text }) => sum + text.length, 0)
  expect(size).toBe(buffer.size)
  expect(size).toBeLessThanOrEqual(MAX_CHARACTERS)
  expect(size).toBeGreaterThan(MAX_CHARACTERS - 16_385)
})

test('a filter without match drops its lines too', () => {
  const buffer = append(filtered(emptyBuffer(), 'none'), entries(MAX_LINES + 1, String))
  expect(buffer.matching).toEqual([])
  expect(
    append(
      buffer,
      entries(1, () => 'none'),
    ).matching,
  ).toHaveLength(1)
})

test('a search in lower case finds both cases', () => {
  expect(hitsOf('Error, error', 'error')).toEqual([
    [0, 5],
    [7, 12],
  ])
  expect(hitsOf('Error, error', 'Error')).toEqual([[0, 5]])
  expect(hitsOf('İ error', 'error')).toEqual([[2, 7]])
})
