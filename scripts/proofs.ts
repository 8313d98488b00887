// Prints the result of each promise of SPECIFICATION.md: node scripts/proofs.ts threats|faults [REPORT.json …] Reads
// the given vitest reports; without any it first runs the tests of those promises in all suites.
// Exits with 1 when a promise is broken, or none of its tests ran.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const SUITES = [
  'vitest.config.ts',
  'vitest.long.config.ts',
  'vitest.foreign.config.ts',
  'vitest.vm.config.ts',
]
const KINDS = { threats: '[A-EG-Z]', faults: 'F' } as const
/** Tested by `npm run test:native` instead of vitest. */
const NOT_BY_VITEST = new Set(['F37'])

interface TestRun {
  readonly ids: readonly string[]
  readonly status: string
  readonly recoveryMs: number | undefined
}

interface Report {
  readonly testResults: readonly {
    readonly assertionResults: readonly {
      readonly ancestorTitles: readonly string[]
      readonly title: string
      readonly status: string
      readonly meta?: { readonly recoveryMs?: number }
    }[]
  }[]
}

/** Returns the tests of a report with the ids at the start of their names, or of enclosing names. */
function readReport(path: string): readonly TestRun[] {
  const { testResults } = JSON.parse(readFileSync(path, 'utf8')) as Report
  return testResults.flatMap(({ assertionResults }) =>
    assertionResults.map(({ ancestorTitles, title, status, meta }) => ({
      ids: [...ancestorTitles, title].flatMap(
        (name) => /^(?:[A-Z]\d{1,2},? )+/.exec(name)?.[0].match(/\w+/g) ?? [],
      ),
      status,
      recoveryMs: meta?.recoveryMs,
    })),
  )
}

function runSuites(kind: string): readonly TestRun[] {
  const reports = mkdtempSync(join(tmpdir(), 'proofs-'))
  try {
    return SUITES.flatMap((config, index) => {
      const report = join(reports, `${index}.json`)
      const output = ['--reporter=dot', '--reporter=json', `--outputFile.json=${report}`]
      const only = ['--testNamePattern', `(?:^| )${kind}\\d{1,2},? `]
      spawnSync('npx', ['vitest', 'run', '--config', config, ...only, ...output], { stdio: ['ignore', 2, 2] })
      return existsSync(report) ? readReport(report) : []
    })
  } finally {
    rmSync(reports, { recursive: true })
  }
}

/** Summarizes the tests of a promise. */
function judge(tests: readonly TestRun[]): { readonly holds: boolean; readonly text: string } {
  const count = (status: string): number => tests.filter((run) => run.status === status).length
  const passed = count('passed')
  const failed = count('failed')
  const skipped = tests.length - passed - failed
  const verdict = failed > 0 ? `FAILS (${failed})` : passed > 0 ? 'holds' : 'NOT RUN'
  return { holds: failed === 0 && passed > 0, text: skipped > 0 ? `${verdict}, ${skipped} skipped` : verdict }
}

/** Summarizes the recovery times that its tests measured, in seconds: median and maximum. */
function recoveryText(tests: readonly TestRun[]): string {
  const times = tests.flatMap(({ recoveryMs }) => recoveryMs ?? []).toSorted((a, b) => a - b)
  const middle = times[times.length >> 1]
  const longest = times.at(-1)
  if (middle === undefined || longest === undefined) return ''
  return times.length === 1 ? seconds(middle) : `${seconds(middle)}, at most ${seconds(longest)}`
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(2)
}

const [kind = '', ...reports] = process.argv.slice(2)
if (kind !== 'threats' && kind !== 'faults') {
  console.error('usage: node scripts/proofs.ts threats|faults [REPORT.json …]')
  process.exit(2)
}
const runs = reports.length > 0 ? reports.flatMap(readReport) : runSuites(KINDS[kind])
const page = readFileSync(resolve(import.meta.dirname, '../SPECIFICATION.md'), 'utf8')
const promises = [...page.matchAll(new RegExp(`^\\| (${KINDS[kind]}\\d+) \\| (.*) \\|$`, 'gm'))]
  .map(([, id = '', text = '']) => ({ id, text }))
  .filter(({ id }) => !NOT_BY_VITEST.has(id))
let broken = 0
console.log(
  `${'ID'.padEnd(5)}${'TESTS'.padStart(5)}  ${'RESULT'.padEnd(20)}${kind === 'faults' ? 'RECOVERY, S'.padEnd(22) : ''}WHAT`,
)
for (const { id, text } of promises) {
  const tests = runs.filter(({ ids }) => ids.includes(id))
  const { holds, text: verdict } = judge(tests)
  if (!holds) broken++
  const recovery = kind === 'faults' ? recoveryText(tests).padEnd(22) : ''
  console.log(`${id.padEnd(5)}${String(tests.length).padStart(5)}  ${verdict.padEnd(20)}${recovery}${text}`)
}
console.log(`${promises.length - broken} of ${promises.length} ${kind} hold`)
process.exitCode = broken === 0 ? 0 : 1
