import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { packageRoot } from '../../src/lib/process/package.ts'

// Style rules (CONTRIBUTING.md) that the linter does not cover.

const SOURCES = [
  'src/**/*.{ts,tsx}',
  'guest/**/*.ts',
  'workers/**/*.ts',
  'bench/**/*.ts',
  'test/support/**/*.ts',
]

const files = globSync(SOURCES, {
  cwd: packageRoot,
  exclude: ['src/**/built/**'],
}).map((file) => ({ file, text: readFileSync(join(packageRoot, file), 'utf8') }))

/** Returns every match of a pattern, as `file: match`. */
function matchesOf(pattern: RegExp): readonly string[] {
  return files.flatMap(({ file, text }) => [...text.matchAll(pattern)].map(([match]) => `${file}: ${match}`))
}

test('the check reads all source files', () => {
  expect(files.length).toBeGreaterThan(1100)
})

test('constants of a module have names in upper case', () => {
  const literal = String.raw`(?:0x[\da-fA-F_]+n?|-?[\d(][\d_.()]*(?: ?[*+-]+ ?[\d_()]+)*|'[^']*'|"[^"]*")`
  expect(matchesOf(new RegExp(`^(?:export )?const [a-z]\\w* = ${literal}$`, 'gm'))).toEqual([])
})

test('docstrings name errors by @throws', () => {
  expect(matchesOf(/\/\*\*(?:(?!\*\/)[^])*?\bThrows (?:(?!\*\/)[^])*?\*\//g)).toEqual([])
})

test('every exported declaration has a docstring', () => {
  const declaration = String.raw`export (?:default |async |abstract )*(?:function\*?|class|const|let|interface|type|enum) (\w+)`
  const undocumented = files.flatMap(({ file, text }) => {
    const namesOf = (before: string) =>
      [...text.matchAll(new RegExp(`${before}^${declaration}`, 'gm'))].map(([, name]) => name)
    // One docstring is enough for all overloads of a function.
    const documented = new Set(namesOf(String.raw`\*/\n`))
    return namesOf('')
      .filter((name) => !documented.has(name))
      .map((name) => `${file}: ${name}`)
  })
  expect(undocumented).toEqual([])
})
