import { expect, test } from 'vitest'
import { parseDuration } from '../../../../../../src/lib/config/duration.ts'
import {
  formatAge,
  formatBytes,
  formatDuration,
  formatPercent,
} from '../../../../../../src/workspace/faces/web/page/parts/format.ts'

test.each([
  [0, '0 B'],
  [1023, '1023 B'],
  [1024, '1.0 KiB'],
  [150 * 2 ** 20, '150 MiB'],
  [1.5 * 2 ** 30, '1.5 GiB'],
  [2 ** 60, '1024 PiB'],
])('formatBytes(%d) returns %j', (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text)
})

test.each([
  [-5, '0s'],
  [59, '59s'],
  [60, '1m'],
  [7_199, '1h'],
  [3 * 86_400, '3d'],
  [800 * 86_400, '2y'],
])('formatAge of %d s returns %j', (seconds, text) => {
  expect(formatAge('2026-01-01T00:00:00Z', Date.parse('2026-01-01T00:00:00Z') + seconds * 1_000)).toBe(text)
})

test.each([
  [0, '0s'],
  [90, '90s'],
  [5_400, '90m'],
  [7_200, '2h'],
  [7 * 86_400, '7d'],
])('formatDuration(%d) returns %j, which the server understands', (seconds, text) => {
  expect(formatDuration(seconds)).toBe(text)
  expect(parseDuration(text)).toBe(1_000 * seconds)
})

test('an unknown percentage is a dash', () => {
  expect([null, 0.24, 99.6, 250].map(formatPercent)).toEqual(['–', '0.2%', '100%', '250%'])
})
