import { existsSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { packageRoot } from '../../src/lib/process/package.ts'

/** The parts that scripts read of a JSON report of vitest. */
export interface VitestReport {
  /** When the run began, in milliseconds since the epoch. */
  readonly startTime: number
  readonly testResults: readonly FileResult[]
}

interface FileResult {
  /** Absolute path. */
  readonly name: string
  readonly status: string
  /** Why the file failed before its first test, or an empty text. */
  readonly message: string
  readonly assertionResults: readonly TestResult[]
}

interface TestResult {
  readonly ancestorTitles: readonly string[]
  readonly title: string
  readonly fullName: string
  /** `passed`, `failed`, or `skipped` and others for tests that did not run. */
  readonly status: string
  readonly failureMessages: readonly string[]
  readonly meta?: { readonly recoveryMs?: number }
}

/** A test that failed, or a file that failed outside of its tests. */
interface Failure {
  /** Relative to the checkout. */
  readonly file: string
  readonly test: string
  readonly errors: string
}

/** In place of a test's name, for a file that failed outside of its tests. */
export const WHOLE_FILE = 'the whole file'

/** Reads a report; undefined if the run was cut off before it wrote one. */
export function readVitestReport(path: string): VitestReport | undefined {
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as VitestReport) : undefined
}

/** Lists what failed. */
export function failuresOf({ testResults }: VitestReport): readonly Failure[] {
  return testResults.flatMap(({ name, status, message, assertionResults }) => {
    const file = relative(packageRoot, name)
    const failed = assertionResults.filter((test) => test.status === 'failed')
    if (status === 'failed' && failed.length === 0) return [{ file, test: WHOLE_FILE, errors: message }]
    return failed.map(({ fullName, failureMessages }) => ({
      file,
      test: fullName,
      errors: failureMessages.join('\n'),
    }))
  })
}

/** Replaces the results of the files that ran again. */
export function mergeReports(first: VitestReport, again: VitestReport): VitestReport {
  const later = new Map(again.testResults.map((file) => [file.name, file]))
  return { ...first, testResults: first.testResults.map((file) => later.get(file.name) ?? file) }
}

/** Counts tests; a file that failed before its first test counts as one failure. */
export function countTests(report: VitestReport): { passed: number; failed: number; skipped: number } {
  const tests = report.testResults.flatMap(({ assertionResults }) => assertionResults)
  const passed = tests.filter(({ status }) => status === 'passed').length
  const failed = tests.filter(({ status }) => status === 'failed').length
  return { passed, failed: failuresOf(report).length, skipped: tests.length - passed - failed }
}
