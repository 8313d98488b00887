import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { packageRoot } from '../../src/lib/process/package.ts'

const TESTS = `
import { expect, test } from 'vitest'
let runs = 0
test('on a busy machine', () => expect(++runs).toBe(2))
test('by random input', () => {
  if (++runs === 3) throw new Error('Property failed after 7 tests')
})
test('always', () => expect(1).toBe(2))
`

test('a suite repeats a failed test once, lists it as flaky, and never repeats what random input has found', () => {
  // Inside the checkout, where imports find vitest.
  const root = join(packageRoot, 'node_modules/.cache', `suites-${process.pid}`)
  mkdirSync(root, { recursive: true })
  onTestFinished(() => rmSync(root, { recursive: true }))
  writeFileSync(join(root, 'one.test.ts'), TESTS)
  const script = `. scripts/steps/suites.sh
vitest_suite demo 1 scripts/on-node npx vitest run --root '${root}' one.test.ts
sum_up`
  const { status, stdout } = spawnSync('bash', ['-c', script], { cwd: packageRoot, encoding: 'utf8' })
  const verdicts = stdout.split('\n').filter((line) => /^(FAILED|FLAKY|==|\d+ passed)/.test(line))
  expect(verdicts.slice(-5).map((line) => line.replace(root, ''))).toEqual([
    'FAILED /one.test.ts: by random input',
    'FAILED /one.test.ts: always',
    'FLAKY /one.test.ts: on a busy machine',
    '== demo: 1 passed, 2 failed, 0 skipped, 0 min',
    '1 passed, 2 failed',
  ])
  expect(status).toBe(1)
})
