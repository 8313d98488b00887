import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { packageRoot } from '../../src/lib/process/package.ts'

/** The ids of promises that SPECIFICATION.md makes, but for the memory checkers' own run, which is no test of this kind. */
function promisedIds(): readonly string[] {
  const page = readFileSync(join(packageRoot, 'SPECIFICATION.md'), 'utf8')
  const ids = [...page.matchAll(/^\| ([A-Z]\d{1,2}) \|/gm)].map(([, id = '']) => id)
  return ids.filter((id) => id !== 'F37')
}

/** The ids that begin the names of tests, and those of tables whose rows are told apart by them. */
function testedIds(): ReadonlySet<string> {
  const tests = join(packageRoot, 'test')
  const sources = globSync('**/*.ts', { cwd: tests }).map((file) => readFileSync(join(tests, file), 'utf8'))
  const names = sources.flatMap((source) => [...source.matchAll(/['"`](?:[A-Z]\d{1,2},? )+/g)])
  const rows = sources.flatMap((source) => [...source.matchAll(/\['([A-Z]\d{1,2})'/g)])
  return new Set([...names, ...rows].flatMap(([text]) => text.match(/[A-Z]\d{1,2}/g) ?? []))
}

test('every threat and every fault of SPECIFICATION.md has a test whose name begins with its id', () => {
  const tested = testedIds()
  expect(promisedIds().filter((id) => !tested.has(id))).toEqual([])
})

/** How many there are of each kind: one that was dropped from the page would be missed by nobody. */
test('SPECIFICATION.md names every threat and every fault once', () => {
  const counts: Record<string, number> = {}
  for (const id of promisedIds()) counts[id.slice(0, 1)] = (counts[id.slice(0, 1)] ?? 0) + 1
  expect(new Set(promisedIds()).size).toBe(promisedIds().length)
  expect(counts).toEqual({ H: 12, W: 12, N: 3, S: 7, B: 6, C: 5, P: 10, V: 9, O: 7, A: 10, F: 36 })
})
