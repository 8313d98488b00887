import { expect, test } from 'vitest'
import { readTerminalModes } from '../../../src/lib/ssh/terminal-modes.ts'

const mode = (opcode: number, value: number): readonly number[] => [opcode, 0, 0, 0, value]

test.each([
  ['nothing', [], []],
  ['only the end', [0], []],
  ['a mode', [...mode(53, 1), 0], [[53, 1]]],
  ['the last of several values', [...mode(53, 1), ...mode(53, 0), 0], [[53, 0]]],
  [
    'an unknown opcode',
    [...mode(99, 7), ...mode(42, 1), 0],
    [
      [99, 7],
      [42, 1],
    ],
  ],
  [
    'no end',
    [...mode(1, 3), ...mode(2, 4)],
    [
      [1, 3],
      [2, 4],
    ],
  ],
  ['an end before other bytes', [...mode(1, 3), 0, ...mode(2, 4)], [[1, 3]]],
  ['an opcode of undefined length', [...mode(1, 3), ...mode(160, 1), ...mode(2, 4)], [[1, 3]]],
  ['a value that is cut off', [...mode(1, 3), 2, 0, 0, 0], [[1, 3]]],
  ['a large value', [128, 0xff, 0xff, 0xff, 0xff, 0], [[128, 0xffff_ffff]]],
])('terminal modes are read: %s', (_title, encoded, expected) => {
  expect([...readTerminalModes(Buffer.from(encoded))]).toEqual(expected)
})
