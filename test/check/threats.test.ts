import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const tests = join(import.meta.dirname, '..')
/** How many threats of each kind there are, and faults (F); the memory checkers' own run is no test of this kind (F37). */
const COUNTS = { A: 9, B: 6, C: 5, F: 36, H: 12, O: 7, P: 10, S: 7, V: 8, W: 12 } as const

/** The ids that begin the names of tests, and those of tables whose rows are told apart by them. */
function testedIds(): ReadonlySet<string> {
  const sources = globSync('**/*.ts', { cwd: tests }).map((file) => readFileSync(join(tests, file), 'utf8'))
  const names = sources.flatMap((source) => [...source.matchAll(/['"`](?:[A-Z]\d{1,2},? )+/g)])
  const rows = sources.flatMap((source) => [...source.matchAll(/\['([A-Z]\d{1,2})'/g)])
  return new Set([...names, ...rows].flatMap(([text]) => text.match(/[A-Z]\d{1,2}/g) ?? []))
}

test('every threat and every fault has a test whose name begins with its id', () => {
  const tested = testedIds()
  const ids = Object.entries(COUNTS).flatMap(([kind, count]) =>
    Array.from({ length: count }, (_, i) => `${kind}${i + 1}`),
  )
  expect(ids.filter((id) => !tested.has(id))).toEqual([])
})
