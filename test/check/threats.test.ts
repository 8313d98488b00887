import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { packageRoot } from '../../src/lib/process/package.ts'

/** Returns the ids of promises in SPECIFICATION.md, except for the sanitizers' own run, which is not a test. */
function promisedIds(): readonly string[] {
  const page = readFileSync(join(packageRoot, 'SPECIFICATION.md'), 'utf8')
  const ids = [...page.matchAll(/^\| ([A-Z]\d{1,2}) \|/gm)].map(([, id = '']) => id)
  return ids.filter((id) => id !== 'F37')
}

/** Returns the ids at the start of test names, and those in tables whose rows they identify. */
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

/** Number of promises of each kind, to catch an id that is dropped from the page. */
test('SPECIFICATION.md names every threat and every fault once', () => {
  const counts: Record<string, number> = {}
  for (const id of promisedIds()) counts[id.slice(0, 1)] = (counts[id.slice(0, 1)] ?? 0) + 1
  expect(new Set(promisedIds()).size).toBe(promisedIds().length)
  expect(counts).toEqual({ H: 12, W: 13, N: 4, S: 7, B: 6, C: 5, P: 10, V: 9, O: 9, A: 10, F: 36 })
})
