import { spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { packageRoot } from '../../src/lib/process/package.ts'
import type { VitestReport } from '../suites/vitest-report.ts'
import type { SpecifiedPromise } from './promises.ts'

/** Projects of vitest that prove promises. */
const PROJECTS = ['unit', 'everyday', 'long', 'foreign', 'vm']
const PATTERNS = { threats: '[A-EG-Z]', faults: 'F' } as const

/** A test that proves promises. */
export interface TestRun {
  /** The promises at the start of its name, or of enclosing names. */
  readonly ids: readonly string[]
  readonly name: string
  /** Relative to the checkout. */
  readonly file: string
  /** As vitest reports it; `not run` for a test that is only listed. */
  readonly status: string
  readonly recoveryMs?: number | undefined
}

/** The tests of a vitest report that prove promises. */
export interface Report {
  readonly startedMs: number
  readonly runs: readonly TestRun[]
}

/** Reads the tests that prove promises from a JSON report of vitest. */
export function readReport(path: string): Report {
  const { startTime, testResults } = JSON.parse(readFileSync(path, 'utf8')) as VitestReport
  const runs = testResults.flatMap(({ name: file, assertionResults }) =>
    assertionResults.map(({ ancestorTitles, title, status, meta }) =>
      testRun([...ancestorTitles, title], file, status, meta?.recoveryMs),
    ),
  )
  return { startedMs: startTime, runs: runs.filter(({ ids }) => ids.length > 0) }
}

/** The tests of several reports; of one that is in more of them, the latest run. */
export function runsOf(reports: readonly Report[]): readonly TestRun[] {
  const latest = new Map<string, TestRun>()
  for (const { runs } of reports.toSorted((a, b) => a.startedMs - b.startedMs)) {
    for (const run of runs) {
      const key = `${run.file} ${run.name}`
      if (didRun(run) || !latest.has(key)) latest.set(key, run)
    }
  }
  return [...latest.values()]
}

function didRun({ status }: TestRun): boolean {
  return status === 'passed' || status === 'failed'
}

/** Runs the tests of all threats or faults in all suites. */
export function runSuites(kind: SpecifiedPromise['kind']): readonly TestRun[] {
  const reports = mkdtempSync(join(tmpdir(), 'proofs-'))
  try {
    return PROJECTS.flatMap((project) => {
      const report = join(reports, `${project}.json`)
      const output = ['--reporter=dot', '--reporter=json', `--outputFile.json=${report}`]
      const only = ['--testNamePattern', `(?:^| )${PATTERNS[kind]}\\d{1,2},? `]
      spawnSync('npx', ['vitest', 'run', '--project', project, ...only, ...output], {
        stdio: ['ignore', 2, 2],
      })
      return existsSync(report) ? readReport(report).runs : []
    })
  } finally {
    rmSync(reports, { recursive: true })
  }
}

/**
 * Lists the tests that prove promises, by their names in the sources, without running any. A test whose name begins with
 * an id from a table has a row of that table instead.
 */
export function listTests(): readonly TestRun[] {
  const folder = join(packageRoot, 'test')
  return globSync('**/*.ts', { cwd: folder })
    .toSorted()
    .flatMap((file) => {
      const path = join(folder, file)
      const source = readFileSync(path, 'utf8')
      const names = [...source.matchAll(/(['"`])((?:[A-Z]\d{1,2},? )+(?:(?!\1)[^\n\\]|\\.)*)\1/g)]
      const rows = [...source.matchAll(/\[('([A-Z]\d{1,2})'.*)/g)]
      return [
        ...names.map(([, , name = '']) => testRun([name.replaceAll(/\\(.)/g, '$1')], path, 'not run')),
        ...rows.map(([, row = '', id = '']) => testRun([`${id} (${row})`], path, 'not run')),
      ]
    })
}

function testRun(titles: readonly string[], file: string, status: string, recoveryMs?: number): TestRun {
  const ids = titles.flatMap((title) => /^(?:[A-Z]\d{1,2},? )+/.exec(title)?.[0].match(/\w+/g) ?? [])
  return {
    ids: [...new Set(ids)],
    name: titles.filter((title) => title !== '').join(' › '),
    file: relative(packageRoot, file),
    status,
    recoveryMs,
  }
}

/** Summarizes the tests of a promise. */
export function judge(tests: readonly TestRun[]): { readonly holds: boolean; readonly text: string } {
  const count = (status: string): number => tests.filter((run) => run.status === status).length
  const passed = count('passed')
  const failed = count('failed')
  const skipped = tests.length - passed - failed
  const verdict = failed > 0 ? `FAILS (${failed})` : passed > 0 ? 'holds' : 'NOT RUN'
  return { holds: failed === 0 && passed > 0, text: skipped > 0 ? `${verdict}, ${skipped} skipped` : verdict }
}

/** Summarizes the recovery times that its tests measured, in seconds: median and maximum. */
export function recoveryText(tests: readonly TestRun[]): string {
  const times = tests.flatMap(({ recoveryMs }) => recoveryMs ?? []).toSorted((a, b) => a - b)
  const middle = times[times.length >> 1]
  const longest = times.at(-1)
  if (middle === undefined || longest === undefined) return ''
  return times.length === 1 ? seconds(middle) : `${seconds(middle)}, at most ${seconds(longest)}`
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(2)
}
