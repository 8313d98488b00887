import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { packageRoot } from '../../src/lib/process/package.ts'

const MAX_WORDS = 3000
const MAX_COLUMNS = 100

/** Pages for people. `bench/RESULTS.md` is an append-only record. */
const pages = globSync(['*.md', 'docs/**/*.md', 'src/**/DESIGN.md'], { cwd: packageRoot })

describe.each(pages)('%s', (page) => {
  const text = readFileSync(join(packageRoot, page), 'utf8')

  test(`has at most ${MAX_WORDS} words`, () => {
    expect(text.split(/\s+/).filter((word) => /\w/.test(word)).length).toBeLessThanOrEqual(MAX_WORDS)
  })

  test(`wraps prose at ${MAX_COLUMNS} columns`, () => {
    const prose = text.replaceAll(/^```[^]*?^```$/gm, '').split('\n')
    const long = prose.filter((line) => line.length > MAX_COLUMNS && !/^\||\]\(\S+\)|https?:/.test(line))
    expect(long).toEqual([])
  })
})

test('a test follows each guide', () => {
  const tests = globSync('test/scenarios/guide*.test.ts', { cwd: packageRoot })
    .map((file) => readFileSync(join(packageRoot, file), 'utf8'))
    .join('')
  const guides = pages.filter((page) => /^docs\/guides\/(?!index)/.test(page))
  expect(guides.length).toBeGreaterThan(0)
  expect(guides.filter((guide) => !tests.includes(`'${guide}'`))).toEqual([])
})
