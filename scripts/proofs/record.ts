import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { packageRoot } from '../../src/lib/process/package.ts'
import { type Report, runsOf, type TestRun } from './test-runs.ts'

/** Results of a run of all suites, from which the documentation site is built. */
export interface RunRecord {
  /** When the first suite started, in RFC 3339. */
  readonly startedAt: string
  readonly commit: string
  /** Whether the checkout differed from the commit. */
  readonly isChanged: boolean
  readonly runs: readonly TestRun[]
}

/** Writes the results of a run of this checkout. */
export function writeRecord(path: string, reports: readonly Report[]): void {
  const record: RunRecord = {
    startedAt: new Date(Math.min(...reports.map(({ startedMs }) => startedMs))).toISOString(),
    commit: git('rev-parse', 'HEAD'),
    isChanged: git('status', '--porcelain') !== '',
    runs: runsOf(reports),
  }
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, `${JSON.stringify(record)}\n`)
}

/** Reads the results of the last run; undefined if there are none. */
export function readRecord(path: string): RunRecord | undefined {
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as RunRecord) : undefined
}

function git(...argv: readonly string[]): string {
  return execFileSync('git', argv, { cwd: packageRoot, encoding: 'utf8' }).trim()
}
