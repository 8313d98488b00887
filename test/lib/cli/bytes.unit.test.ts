import { expect, test } from 'vitest'
import { formatBytes } from '../../../src/lib/cli/bytes.ts'

test.each([
  [0, '0 B'],
  [1023, '1023 B'],
  [1024, '1.00 KiB'],
  [10_240, '10.0 KiB'],
  [1_048_575, '1.00 MiB'],
  [5 * 2 ** 30, '5.00 GiB'],
  [999 * 2 ** 40, '999 TiB'],
])('formatBytes writes %d as %s', (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text)
})
