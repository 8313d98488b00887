// Runs a suite of vitest, for scripts/steps/suites.sh:
//   node scripts/run-vitest.ts REPORT once|again COMMAND… [--files FILE…]
// COMMAND runs vitest with the arguments that are appended: FILE…, by default all files. REPORT is vitest's JSON report.
// With "again", files in which a test failed run again, one at a time: a test that passes then is printed as
// `flaky: FILE: TEST`. Prints `FAILED FILE: TEST` and its errors for each failed test; the last line is
// `N passed, N failed, N skipped`.
import { spawnSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import {
  countTests,
  failuresOf,
  mergeReports,
  readVitestReport,
  type VitestReport,
} from './suites/vitest-report.ts'

const [report = '', mode, ...rest] = process.argv.slice(2)
const separator = rest.indexOf('--files')
const command = separator < 0 ? rest : rest.slice(0, separator)
const files = separator < 0 ? [] : rest.slice(separator + 1)
if ((mode !== 'once' && mode !== 'again') || command.length === 0) {
  console.error('usage: node scripts/run-vitest.ts REPORT once|again COMMAND… [--files FILE…]')
  process.exit(2)
}

/** Runs vitest; returns undefined if it ended without a report. */
function runVitest(...more: readonly string[]): VitestReport | undefined {
  rmSync(report, { force: true })
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  const [program = '', ...argv] = command
  const { status } = spawnSync(program, [...argv, ...more, ...reporters], { stdio: 'inherit' })
  const found = readVitestReport(report)
  // Such as an error outside of tests, which no test reports.
  if (status !== 0 && found !== undefined && failuresOf(found).length === 0) {
    console.log(`FAILED ${command.join(' ')}: ended with status ${status}`)
    process.exitCode = 1
  }
  return found
}

/** Runs files in which a test failed again, one at a time. */
function repeatFailed(first: VitestReport): VitestReport {
  const failed = failuresOf(first)
  const again = runVitest(...new Set(failed.map(({ file }) => file)), '--maxWorkers=1')
  if (again === undefined) return first
  const merged = mergeReports(first, again)
  const fails = new Set(failuresOf(merged).map(({ file, test }) => `${file}: ${test}`))
  for (const { file, test } of failed)
    if (!fails.has(`${file}: ${test}`)) console.log(`flaky: ${file}: ${test}`)
  writeFileSync(report, JSON.stringify(merged))
  return merged
}

const first = runVitest(...files)
if (first === undefined) {
  console.log('FAILED: vitest ended without a report\n0 passed, 1 failed, 0 skipped')
  process.exit(1)
}
const final = mode === 'again' && failuresOf(first).length > 0 ? repeatFailed(first) : first
for (const { file, test, errors } of failuresOf(final)) console.log(`FAILED ${file}: ${test}\n${errors}`)
const { passed, failed, skipped } = countTests(final)
if (failed > 0) process.exitCode = 1
console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`)
