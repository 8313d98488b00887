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
  // References in defaults, as sh and docker compose resolve them.
  ['${NOPE:-$HOME}', '/h'],
  ['${EMPTY:-a${HOME}b}c', 'a/hbc'],
  ['"${NOPE-${NONE:-$HOME}}"', '/h'],
  ['"${HOME:-${NOPE}}"', '/h'],
  ['${NOPE:-$HOME', '${NOPE:-/h'],
  ['"${NOPE:-{\\"a\\":1\\}}"', '{"a":1}'],
  ['${NOPE:-a\\}b}', 'a}b'],
  // Backslashes before a dollar sign, as in sh.
  [String.raw`\\$HOME`, String.raw`\/h`],
  [String.raw`\\\$HOME`, String.raw`\$HOME`],
  [String.raw`\\\\$HOME`, String.raw`\\/h`],
  // Other backslashes without quotes, as in foreman and process-compose.
  [String.raw`\\host\dir`, String.raw`\\host\dir`],
  [String.raw`a\"b\'c\#d`, String.raw`a\"b\'c\#d`],
  // Other backslashes in double quotes, as in sh, honcho and docker compose.
  [String.raw`"C:\path"`, String.raw`C:\path`],
  [String.raw`"\d+\.\w"`, String.raw`\d+\.\w`],
  [String.raw`"\\d\\\d"`, String.raw`\d\\d`],
  [String.raw`"\'\#\}"`, String.raw`\'\#\}`],
  ['"\\`date\\`"', '`date`'],
  ['"a\\\nb"', 'ab'],
  // As docker compose, and in part dotenv, foreman and honcho.
  [String.raw`"a\nb\rc\td"`, 'a\nb\rc\td'],
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
