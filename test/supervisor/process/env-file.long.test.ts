import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseEnvFile } from '../../../src/supervisor/process/env-file.ts'
import { fc } from '../../support/fast-check.ts'
import { tempDir } from '../../support/temp-dir.ts'

const LINES = 2_000
const TEXT = ['a', '/', ':', String.raw`\$`, 'é'] as const
const QUOTED = [...TEXT, ' ', '#', "'", String.raw`\\`, String.raw`\"`] as const
const REFERENCES = [
  '$HOME',
  '${HOME}',
  '${EMPTY:-a}',
  '${EMPTY-a}',
  '${NOPE:-b}',
  '${EMPTY:-$HOME}',
  '${NOPE-a${HOME:-b}$NOPE}',
] as const

/** Generates assignments to K0, K1, …, quoted or not. */
function generate(plain: readonly string[], quoted: readonly string[]): readonly string[] {
  const joined = (tokens: readonly string[]) =>
    fc.array(fc.constantFrom(...tokens), { maxLength: 8 }).map((each) => each.join(''))
  const value = fc.oneof(
    joined(plain),
    joined(quoted).map((text) => `"${text}"`),
    joined(TEXT).map((text) => `'${text}'`),
  )
  return fc.sample(value, LINES).map((text, at) => `K${at}=${text}`)
}

/** Returns the variables K0, K1, … that a command prints separated by NUL. */
function variablesOf(
  program: string,
  argv: readonly string[],
  cwd: string,
): Readonly<Record<string, string>> {
  const env = { PATH: process.env['PATH'], LANG: 'C.UTF-8', HOME: '/h', EMPTY: '' }
  const output = execFileSync(program, argv, { cwd, env, encoding: 'utf8', maxBuffer: 2 ** 26 })
  const found = output.split('\0').filter((each) => /^K\d/.test(each))
  return Object.fromEntries(
    found.map((each) => [each.slice(0, each.indexOf('=')), each.slice(each.indexOf('=') + 1)]),
  )
}

test.each([
  ['sh', [...TEXT, ...REFERENCES], [...QUOTED, ...REFERENCES], ['-c', 'set -a; . ./.env; env -0']],
  // It resolves no references, and no backslashes outside of quotes.
  ['foreman', ['a', '/', ':'], QUOTED, ['run', 'env', '-0']],
] as const)('%s reads generated env files alike', (program, plain, quoted, argv) => {
  const dir = tempDir()
  const lines = generate(plain, quoted)
  writeFileSync(join(dir, '.env'), lines.map((line) => `${line}\n`).join(''))
  const ours = parseEnvFile(`${lines.join('\n')}\n`, { HOME: '/h', EMPTY: '' })
  expect(ours).toEqual(variablesOf(program, argv, dir))
})
