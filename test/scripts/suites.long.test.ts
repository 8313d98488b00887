import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import { expect, test } from 'vitest'
import { packageRoot } from '../../src/lib/process/package.ts'
import { tempDir } from '../support/temp-dir.ts'
import { testFiles } from '../support/test-files.ts'

/** Fails in its first run. */
const BUSY = `
import { existsSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
test('on a busy machine', () => {
  const file = import.meta.dirname + '/ran'
  const ran = existsSync(file)
  writeFileSync(file, '')
  expect(ran).toBe(true)
})
test('beside it', () => undefined)
`
const BROKEN = `
import { expect, test } from 'vitest'
test('always', () => expect(1).toBe(2))
`

/** Runs suites in a copy of the scripts' directory layout and returns the lines of their summary. */
function sumUp(script: string): { readonly status: number | null; readonly lines: readonly string[] } {
  const reports = tempDir()
  const { status, stdout } = spawnSync(
    'bash',
    ['-c', `. scripts/steps/suites.sh\nreports=${reports} alone=no\n${script}\nsum_up`],
    {
      cwd: packageRoot,
      encoding: 'utf8',
    },
  )
  return { status, lines: stdout.slice(stdout.lastIndexOf('\nSUITE')).trim().split('\n') }
}

test('a file that fails runs again, alone: what passes then is flaky, what fails again has failed', () => {
  const root = testFiles({ 'busy.test.ts': BUSY, 'broken.test.ts': BROKEN })
  // As for npm, what follows "--" belongs to the command.
  const suite = (mode: string) =>
    sumUp(
      `vitest_suite demo 1 ${mode} sh -c 'test "$1" = --; shift; exec scripts/on-node npx vitest run "$@"' sh -- --root '${root}' --files busy broken`,
    )
  const again = suite('again')
  expect(again.lines.slice(1)).toEqual([
    expect.stringMatching(/^demo +2 +1 +0 +\d+\.\d$/),
    '',
    `flaky: ${relative(packageRoot, root)}/busy.test.ts: on a busy machine`,
    '2 passed, 1 failed',
  ])
  expect(again.status).toBe(1)
  rmSync(join(root, 'ran'))
  expect(suite('once').lines.at(-1)).toBe('1 passed, 2 failed')
})

test('a suite fails that is cut off, runs nothing, or fails without a failed test', () => {
  const { status, lines } = sumUp(`
suite cut 0.02 sleep 60
suite nothing 1 echo '0 passed, 0 failed'
suite silent 1 true
suite outside 1 sh -c 'echo "2 passed, 0 failed, 1 skipped"; exit 3'
suite counted 1 sh -c 'echo "3 passed, 2 failed"; exit 1'
step step 1 true
step broken 1 false`)
  expect(lines.slice(1)).toEqual([
    expect.stringMatching(/^cut +0 +1 +0 /),
    expect.stringMatching(/^nothing +0 +1 +0 /),
    expect.stringMatching(/^silent +0 +1 +0 /),
    expect.stringMatching(/^outside +2 +1 +1 /),
    expect.stringMatching(/^counted +3 +2 +0 /),
    expect.stringMatching(/^step +1 +0 +0 /),
    expect.stringMatching(/^broken +0 +1 +0 /),
    '',
    '6 passed, 7 failed',
  ])
  expect(status).toBe(1)
})
