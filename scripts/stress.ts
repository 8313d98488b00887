// Runs everyday tests repeatedly to find those that fail sometimes: npm run test:stress -- [PATTERN…] [-n N] [--seed SEED]
// Each of the N runs (default: 10) has its own order of files, or that of SEED. The tests of a file keep theirs, because
// many build on the one before. Meanwhile threads compute on every core. Prints a line for each run; at the end, or after an
// interrupt, each test that failed, how often, the seed and the first error. Exits with 1 if a test failed.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { countTests, failuresOf, readVitestReport, WHOLE_FILE } from './suites/vitest-report.ts'

/** Runs the everyday tests. */
const VITEST = ['vitest', 'run', '--project', 'unit', '--project', 'everyday', '--tags-filter=!long']

interface FailedTest {
  count: number
  /** The order of files in the first run in which it failed. */
  readonly seed: number
  /** Of that run. */
  readonly errors: string
}

interface RunResult {
  readonly passed: number
  readonly failures: readonly { readonly file: string; readonly test: string; readonly errors: string }[]
}

/** Returns a whole number; exits with 2 if the text is none or less than the minimum. */
function parseNumber(option: string, text: string, minimum: number): number {
  const number = Number(text)
  if (text !== '' && Number.isInteger(number) && number >= minimum) return number
  console.error(`stress: ${option} expects a whole number of at least ${minimum}, got "${text}"`)
  return process.exit(2)
}

const { values, positionals: patterns } = parseArgs({
  allowPositionals: true,
  options: { runs: { type: 'string', short: 'n', default: '10' }, seed: { type: 'string' } },
})
const runs = parseNumber('-n', values.runs, 1)
const fixedSeed = values.seed === undefined ? undefined : parseNumber('--seed', values.seed, 0)

const directory = mkdtempSync(join(tmpdir(), 'stress-'))
process.on('exit', () => rmSync(directory, { recursive: true, force: true }))

let isInterrupted = false
let vitest: ChildProcess | undefined
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => {
    isInterrupted = true
    vitest?.kill(signal)
  })

/** Runs the files once; a run that ends with an error but no failed test is also a failure. */
async function runVitest(seed: number): Promise<RunResult> {
  const report = join(directory, 'report.json')
  const log = join(directory, 'log')
  rmSync(report, { force: true })
  const [program = '', ...argv] = VITEST
  const order = ['--sequence.shuffle.files', `--sequence.seed=${seed}`]
  const reporter = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  const output = openSync(log, 'w')
  // Its own process group: a terminal's interrupt reaches it once, from here.
  const stdio = ['ignore', output, output] as const
  vitest = spawn(program, [...argv, ...patterns, ...order, ...reporter], {
    detached: true,
    env: { ...process.env, NO_COLOR: '1' },
    stdio: [...stdio],
  })
  const [status] = (await once(vitest, 'close')) as [number | null]
  closeSync(output)
  const found = readVitestReport(report)
  const failures = found === undefined ? [] : failuresOf(found)
  const passed = found === undefined ? 0 : countTests(found).passed
  if (status === 0) return { passed, failures }
  const text = readFileSync(log, 'utf8')
  if (failures.length === 0)
    return { passed, failures: [{ file: 'vitest', test: `ended with status ${status}`, errors: text }] }
  // The report lacks the errors of hooks, by which a file fails without a failed test.
  const hooks = /^⎯+ Failed Suites [^]*?(?=^⎯+ Failed Tests |^ Test Files )/m.exec(text)?.[0]
  const explained = failures.map((each) =>
    each.test === WHOLE_FILE ? { ...each, errors: hooks ?? each.errors } : each,
  )
  return { passed, failures: explained }
}

// Threads, because they end with this process however it ends.
const loops = Array.from({ length: availableParallelism() }, () => new Worker('for (;;);', { eval: true }))

const failed = new Map<string, FailedTest>()
let done = 0
while (done < runs) {
  const seed = fixedSeed ?? Math.floor(Math.random() * 2 ** 31)
  const beganMs = performance.now()
  const { passed, failures } = await runVitest(seed)
  if (isInterrupted) break
  done++
  for (const { file, test, errors } of failures) {
    const name = `${file}: ${test}`
    const known = failed.get(name)
    if (known === undefined) failed.set(name, { count: 1, seed, errors })
    else known.count++
  }
  const seconds = Math.round((performance.now() - beganMs) / 1_000)
  console.log(`run ${done}: ${passed} passed, ${failures.length} failed, ${seconds} s, seed ${seed}`)
}
await Promise.all(loops.map((loop) => loop.terminate()))

for (const [name, { count, seed, errors }] of [...failed].toSorted(([, a], [, b]) => b.count - a.count))
  console.log(`\nFAILED ${count} of ${done}: ${name}\nseed ${seed}\n${errors.slice(0, 2_000)}`)
console.log(`\n${failed.size} tests failed in ${done} runs`)
process.exitCode = failed.size > 0 ? 1 : isInterrupted ? 130 : 0
