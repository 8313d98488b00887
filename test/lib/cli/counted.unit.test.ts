import { expect, it } from 'vitest'
import { counted } from '../../../src/lib/cli/counted.ts'

it.each([
  [0, '0 pages'],
  [1, '1 page'],
  [2, '2 pages'],
])('%i', (count, said) => {
  expect(counted(count, 'page')).toBe(said)
})

it('uses an irregular plural', () => {
  expect([counted(1, 'directory', 'directories'), counted(2, 'directory', 'directories')]).toEqual([
    '1 directory',
    '2 directories',
  ])
})
