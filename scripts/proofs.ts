// Reports which promises of SPECIFICATION.md hold, from vitest's JSON reports:
//   node scripts/proofs.ts threats|faults [REPORT.json …]  prints a line for each; without reports it first runs their
//       tests in all suites. Exits with 1 when a promise is broken, or none of its tests ran.
//   node scripts/proofs.ts record FILE REPORT.json …       records the results of a run of all suites
//   node scripts/proofs.ts page [FILE]                     prints the page of the site, from recorded results
import { proofsPage } from './proofs/page.ts'
import { OTHER_PROOFS, readPromises, type SpecifiedPromise } from './proofs/promises.ts'
import { readRecord, writeRecord } from './proofs/record.ts'
import {
  judge,
  listTests,
  readReport,
  recoveryText,
  runsOf,
  runSuites,
  type TestRun,
} from './proofs/test-runs.ts'

/** Prints the result of each promise; returns whether all hold. */
function printTable(kind: SpecifiedPromise['kind'], runs: readonly TestRun[]): boolean {
  const promises = readPromises().filter((each) => each.kind === kind && !OTHER_PROOFS.has(each.id))
  const isFault = kind === 'faults'
  const columns = [
    'ID'.padEnd(5),
    'TESTS  '.padStart(7),
    'RESULT'.padEnd(20),
    isFault ? 'RECOVERY, S'.padEnd(22) : '',
  ]
  console.log(`${columns.join('')}WHAT`)
  let broken = 0
  for (const { id, text } of promises) {
    const tests = runs.filter(({ ids }) => ids.includes(id))
    const { holds, text: verdict } = judge(tests)
    if (!holds) broken++
    const recovery = isFault ? recoveryText(tests).padEnd(22) : ''
    console.log(`${id.padEnd(5)}${String(tests.length).padStart(5)}  ${verdict.padEnd(20)}${recovery}${text}`)
  }
  console.log(`${promises.length - broken} of ${promises.length} ${kind} hold`)
  return broken === 0
}

const [command = '', ...files] = process.argv.slice(2)
const [file] = files
if (command === 'threats' || command === 'faults') {
  const runs = files.length > 0 ? runsOf(files.map(readReport)) : runSuites(command)
  process.exitCode = printTable(command, runs) ? 0 : 1
} else if (command === 'record' && file !== undefined && files.length > 1) {
  writeRecord(file, files.slice(1).map(readReport))
} else if (command === 'page') {
  console.log(proofsPage(readPromises(), file === undefined ? undefined : readRecord(file), listTests))
} else {
  console.error(
    'usage: node scripts/proofs.ts threats|faults [REPORT.json …] | record FILE REPORT.json … | page [FILE]',
  )
  process.exitCode = 2
}
