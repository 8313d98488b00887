import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseEnvFile } from '../../../src/supervisor/process/env-file.ts'
import { fc } from '../../support/fast-check.ts'
import { installedPeer } from '../../support/supervisor/project-runners.ts'
import { tempDir } from '../../support/temp-dir.ts'

const LINES = 2_000
const TEXT = ['a', '/', ':', 'é'] as const
const REFERENCES = ['$HOME', '${HOME}', '${EMPTY-a}'] as const
/** Splits a text at spaces. */
const pieces = (text: string): readonly string[] => text.split(' ')

/** Pieces of generated values. */
interface Pieces {
  readonly plain: readonly string[]
  readonly quoted: readonly string[]
  readonly single: readonly string[]
  /** Whether references have defaults, which contain pieces and further references. */
  readonly hasDefaults: boolean
}

/** Generates assignments to K0, K1, …, quoted or not. */
function generate({ plain, quoted, single, hasDefaults }: Pieces): readonly string[] {
  const joined = (tokens: readonly string[]) =>
    fc.array(fc.constantFrom(...tokens), { minLength: 1, maxLength: 8 }).map((each) => each.join(''))
  const text = (tokens: readonly string[]) =>
    !hasDefaults
      ? joined(tokens)
      : fc.letrec<{ value: string; reference: string }>((tie) => ({
          reference: fc
            .tuple(fc.constantFrom('HOME', 'EMPTY', 'NOPE'), fc.constantFrom('-', ':-'), tie('value'))
            .map(([name, operator, otherwise]) => `\${${name}${operator}${otherwise}}`),
          value: fc
            .array(fc.oneof({ depthSize: 'small' }, fc.constantFrom(...tokens), tie('reference')), {
              maxLength: 6,
            })
            .map((each) => each.join('')),
        })).value
  const value = fc.oneof(
    text(plain),
    text(quoted).map((each) => `"${each}"`),
    joined(single).map((each) => `'${each}'`),
  )
  return fc.sample(value, LINES).map((each, at) => `K${at}=${each}`)
}

/** Returns the variables K0, K1, … that a command prints, or writes into the file `variables`, separated by NUL. */
function variablesOf(
  [program = '', ...argv]: readonly string[],
  cwd: string,
): Readonly<Record<string, string>> {
  const env = { PATH: process.env['PATH'], LANG: 'C.UTF-8', HOME: '/h', EMPTY: '' }
  const printed = execFileSync(program, argv, { cwd, env, encoding: 'utf8', maxBuffer: 2 ** 26 })
  const file = join(cwd, 'variables')
  const output = existsSync(file) ? readFileSync(file, 'utf8') : printed
  const found = output.split('\0').filter((each) => /^K\d/.test(each))
  return Object.fromEntries(
    found.map((each) => [each.slice(0, each.indexOf('=')), each.slice(each.indexOf('=') + 1)]),
  )
}

/** How each program is run, and what is generated for it: not what it is known to read otherwise. */
const PEERS: Readonly<Record<string, Pieces & { readonly argv: readonly string[] }>> = {
  // It decodes no \n, \r and \t, drops a backslash outside of quotes, and expands $$, $1 and further operators.
  sh: {
    argv: ['sh', '-c', 'set -a; . ./.env; env -0'],
    plain: [...TEXT, ...REFERENCES, ...pieces(String.raw`\$ \\$HOME \\\$`)],
    quoted: [
      ...TEXT,
      ...REFERENCES,
      ' ',
      '\\ ',
      '\\\n',
      '\\`',
      ...pieces(String.raw`# ' \# \' \$ \\ \" \d \. \é`),
    ],
    single: [...TEXT, ...pieces(String.raw`\$ \d $HOME " #`)],
    hasDefaults: true,
  },
  // It resolves no references, keeps \$ outside of quotes, and drops the backslash of unknown escapes, \r and \t.
  foreman: {
    argv: ['foreman', 'run', 'env', '-0'],
    plain: [...TEXT, ...pieces(String.raw`\a \\a $$`)],
    quoted: [...TEXT, ' ', '\\`', ...pieces(String.raw`# ' \$ \" \\a $$ \n`)],
    single: [...TEXT, ...pieces(String.raw`\$ \d $HOME #`)],
    hasDefaults: false,
  },
  // It skips empty values, resolves no references, drops backslashes outside of quotes, and keeps those of \$, \` and \r.
  honcho: {
    argv: [installedPeer('honcho/bin/honcho'), 'run', 'env', '-0'],
    plain: [...TEXT, '$$'],
    quoted: [...TEXT, ' ', ...pieces(String.raw`# ' \" \d \. $$ \n \t`)],
    single: [...TEXT, ...pieces(String.raw`# \. $HOME`)],
    hasDefaults: false,
  },
  // It has no defaults, resolves no reference after \\ and only uppercase letters of $NAME, misreads a final \", and
  // drops the backslash of unknown escapes, \t and a newline.
  'process-compose': {
    argv: [installedPeer('process-compose'), '-t=false', '--no-server', '-L', 'log', 'up'],
    plain: [...TEXT, ...pieces(String.raw`\a \\a \$`), '${HOME}'],
    quoted: [...TEXT, ' ', '\\`', '${HOME}', ...pieces(String.raw`# ' \$ \"a \\a \n \r`)],
    single: [...TEXT, ...pieces(String.raw`\$ \d $HOME #`)],
    hasDefaults: false,
  },
}

test.each(Object.entries(PEERS))('%s reads generated env files alike', (_name, { argv, ...generated }) => {
  const dir = tempDir()
  const lines = generate(generated)
  // process-compose resolves only variables of the file itself.
  writeFileSync(join(dir, '.env'), ['HOME=/h', ...lines].map((line) => `${line}\n`).join(''))
  writeFileSync(join(dir, 'process-compose.yaml'), 'processes: {p: {command: env -0 >variables}}\n')
  const ours = parseEnvFile(`${lines.join('\n')}\n`, { HOME: '/h', EMPTY: '' })
  expect(ours).toEqual(variablesOf(argv, dir))
})
