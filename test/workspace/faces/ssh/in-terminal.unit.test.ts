import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { sttyArguments, untilReady } from '../../../../src/workspace/faces/ssh/in-terminal.ts'

test.each([
  ['a flag', [[53, 1]], ['echo']],
  ['a flag that is off', [[53, 0]], ['-echo']],
  ['any other value is on', [[42, 256]], ['iutf8']],
  ['a character', [[3, 127]], ['erase', '127']],
  ['a digit, which stty would take for itself', [[3, 8]], ['erase', '^H']],
  ['a character that is off', [[1, 255]], ['intr', 'undef']],
  ['the character 0', [[1, 0]], ['intr', 'undef']],
  ['a character beyond a byte', [[1, 0x103]], ['intr', '^C']],
  [
    'a speed',
    [
      [128, 38_400],
      [129, 9600],
    ],
    ['ispeed', '38400', 'ospeed', '9600'],
  ],
  [
    'a speed that stty does not know',
    [
      [128, 12_345],
      [129, 0],
    ],
    [],
  ],
  [
    'unknown opcodes',
    [
      [11, 1],
      [17, 1],
      [62, 1],
      [90, 1],
      [99, 1],
    ],
    [],
  ],
] as const)('arguments of stty: %s', (_title, modes, expected) => {
  expect(sttyArguments(new Map(modes))).toEqual(expected)
})

test.each([
  ['\0', ''],
  ['\0first', 'first'],
  ['no such program', 'no such program'],
  ['', ''],
])('only the mark of a prepared terminal is taken away from %j', async (printed, expected) => {
  const output = new PassThrough()
  output.end(printed)
  await untilReady(output)
  expect(await text(output)).toBe(expected)
})
