import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join, relative } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { packageRoot } from '../../src/lib/process/package.ts'
import { readProcStat, TICK_MS } from '../../src/lib/process/proc-stat.ts'
import { testFiles } from '../support/test-files.ts'
import { waitFor } from '../support/wait-for.ts'

/** One project of everyday tests, with the tag that the command filters by. */
const CONFIG = `export default { test: { name: 'everyday', tags: [{ name: 'long', description: '' }] } }`
/** Fails in every other run. */
const RACE = `
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
test('a race', () => {
  const file = import.meta.dirname + '/ran'
  const ran = existsSync(file)
  if (ran) rmSync(file)
  else writeFileSync(file, '')
  expect(ran).toBe(true)
})
`
const STEADY = `
import { test } from 'vitest'
test('steady', () => undefined)
`
/** Fails before its test, and then leaves something to the next file. */
const HOOKS = `
import { afterAll, beforeAll, describe, test } from 'vitest'
afterAll(() => { throw new Error('left behind') })
describe('with a server', () => {
  beforeAll(() => { throw new Error('the cause') })
  test('not run', () => undefined)
})
`
/** Does not end. */
const ENDLESS = `
import { writeFileSync } from 'node:fs'
import { test } from 'vitest'
test('endless', () => {
  writeFileSync(import.meta.dirname + '/began', '')
  return new Promise(() => undefined)
})
`

/** Starts it in a directory of tests with an own configuration. */
function stress(root: string, ...argv: readonly string[]) {
  const child = spawn('node', [join(packageRoot, 'scripts/stress.ts'), ...argv], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const status = new Promise<number | null>((resolve) => child.once('close', resolve))
  const result = buffer(child.stdout).then(async (output) => ({
    status: await status,
    output: output.toString(),
  }))
  return { child, result }
}

test('a race is listed with its count, seed and error; without one the status is 0', async () => {
  const root = testFiles({ 'vitest.config.ts': CONFIG, 'race.test.ts': RACE, 'steady.test.ts': STEADY })
  const { status, output } = await stress(root, '-n', '2').result
  const [, seed] = /^run 1: 1 passed, 1 failed, \d+ s, seed (\d+)$/m.exec(output) ?? []
  expect(output).toMatch(/^run 2: 2 passed, 0 failed, \d+ s, seed \d+$/m)
  const file = `${relative(packageRoot, root)}/race.test.ts`
  expect(output).toContain(`\nFAILED 1 of 2: ${file}: a race\nseed ${seed}\nAssertionError: expected false`)
  expect(output).not.toContain('steady')
  expect(status).toBe(1)
  const steady = await stress(root, 'steady', '-n', '1', '--seed', '7').result
  expect(steady.output).toMatch(/^run 1: 1 passed, 0 failed, \d+ s, seed 7\n\n0 tests failed in 1 runs\n$/)
  expect(steady.status).toBe(0)
})

test('a file that fails in its hooks is listed with the error of each', async () => {
  const root = testFiles({ 'vitest.config.ts': CONFIG, 'hooks.test.ts': HOOKS })
  const { status, output } = await stress(root, '-n', '1').result
  expect(output).toContain(`FAILED 1 of 1: ${relative(packageRoot, root)}/hooks.test.ts: the whole file`)
  for (const error of ['the cause', 'left behind']) expect(output).toContain(`Error: ${error}`)
  expect(status).toBe(1)
})

test('threads compute beside the tests until an interrupt, which ends the run with a summary', async () => {
  const root = testFiles({ 'vitest.config.ts': CONFIG, 'endless.test.ts': ENDLESS })
  const { child, result } = stress(root)
  await waitFor('the endless test', () => existsSync(join(root, 'began')))
  const cpuMs = () => (readProcStat(child.pid ?? 0)?.cpuTicks ?? 0) * TICK_MS
  const beganMs = cpuMs()
  await waitFor('the threads', () => cpuMs() > beganMs + 200)
  child.kill('SIGINT')
  expect(await result).toEqual({ status: 130, output: '\n0 tests failed in 0 runs\n' })
})
