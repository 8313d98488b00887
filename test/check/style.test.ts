import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { packageRoot } from '../../src/lib/process/package.ts'

// Style that the linter has no rule for (CONTRIBUTING.md).

const files = globSync(['src/**/*.{ts,tsx}', 'guest/**/*.ts', 'workers/**/*.ts'], {
  cwd: packageRoot,
  exclude: ['src/**/built/**'],
}).map((file) => ({ file, text: readFileSync(join(packageRoot, file), 'utf8') }))

/** Every place where a pattern matches, as `file: match`. */
function placesOf(pattern: RegExp): readonly string[] {
  return files.flatMap(({ file, text }) => [...text.matchAll(pattern)].map(([match]) => `${file}: ${match}`))
}

test('all of the source is read', () => {
  expect(files.length).toBeGreaterThan(900)
})

test('constants of a module have names in upper case', () => {
  const literal = String.raw`(?:0x[\da-fA-F_]+n?|-?[\d(][\d_.()]*(?: ?[*+-]+ ?[\d_()]+)*|'[^']*'|"[^"]*")`
  expect(placesOf(new RegExp(`^(?:export )?const [a-z]\\w* = ${literal}$`, 'gm'))).toEqual([])
})

test('docstrings name errors by @throws', () => {
  expect(placesOf(/\/\*\*(?:(?!\*\/)[^])*?\bThrows (?:(?!\*\/)[^])*?\*\//g)).toEqual([])
})
