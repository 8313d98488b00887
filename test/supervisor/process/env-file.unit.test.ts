import { expect, test } from 'vitest'
import { parseEnvFile } from '../../../src/supervisor/process/env-file.ts'
import { fc } from '../../support/fast-check.ts'

const ENVIRONMENT = { HOME: '/h', EMPTY: '' }

test.each([
  // As sh, foreman and process-compose read them.
  [String.raw`"p\$ecret9"`, 'p$ecret9'],
  [String.raw`"\$\$"`, '$$'],
  [String.raw`"\\\$HOME"`, String.raw`\$HOME`],
  [String.raw`'p\$x'`, String.raw`p\$x`],
  [String.raw`"a\"b\\c"`, String.raw`a"b\c`],
  ['a#b', 'a#b'],
  ['a$', 'a$'],
  // As sh and process-compose do.
  [String.raw`p\$ecret9`, 'p$ecret9'],
  [String.raw`"\$HOME and $HOME"`, '$HOME and /h'],
  // As sh does.
  [String.raw`"\\$HOME"`, String.raw`\/h`],
  ['${NOPE:-x}', 'x'],
  [String.raw`"${'${NOPE:-a\\$HOME}'}"`, 'a$HOME'],
  ['${NOPE:-$HOME/x}', '/h/x'],
  ['${EMPTY:-${HOME}/${NOPE}x}', '/h/x'],
  ['"${NOPE-a ${NOPE:-b} $HOME}"', 'a b /h'],
  ['"${HOME:-${NOPE}}}"', '/h}'],
  // As foreman and process-compose do.
  ['$$', '$$'],
  ['"a$$b"', 'a$$b'],
  [String.raw`C:\dir\new`, String.raw`C:\dir\new`],
  [String.raw`a\ b`, String.raw`a\ b`],
  ['"`date` $(date)"', '`date` $(date)'],
])('the value %s of an env file is %j', (text, value) => {
  expect(parseEnvFile(`K=${text}\n`, ENVIRONMENT)['K']).toBe(value)
})

test('a byte order mark is not part of the first name', () => {
  expect(parseEnvFile('\uFEFFK=1\n', {})).toEqual({ K: '1' })
})

test('any value comes back from double quotes in which \\, " and $ have a backslash', () => {
  const value = fc.string({
    unit: fc.constantFrom('a', '\\', '"', '$', '{', '}', '#', ' ', "'", '\n', 'HOME', 'é'),
  })
  fc.assert(
    fc.property(value, (expected) => {
      const quoted = `"${expected.replace(/[\\"$]/g, String.raw`\$&`)}"`
      expect(parseEnvFile(`A=1\nK=${quoted}\nB=2\n`, ENVIRONMENT)).toEqual({ A: '1', K: expected, B: '2' })
    }),
  )
})
