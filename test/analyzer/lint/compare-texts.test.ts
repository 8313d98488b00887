import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { styleIssues, unifiedDiff } from '../../../src/analyzer/lint/compare-texts.ts'
import { tempDir } from '../../support/temp-dir.ts'

const lines = (count: number, indent: string): string =>
  Array.from({ length: count }, (_, line) => `${indent}line ${line};\n`).join('')

test.each([
  ['a few lines', 'a\nb\nc\nd\n', 'a\nB\nc\nd\ne\n'],
  ['no end of the last line', 'a\nb', 'a\nb\n'],
  [
    'more than is compared line by line',
    `head\n${lines(3_000, '    ')}tail\n`,
    `head\n${lines(3_000, '  ')}tail\n`,
  ],
  ['the same, without an end', `head\n${lines(3_000, '    ')}tail`, `head\n${lines(3_000, '  ')}tail\n`],
  ['all', lines(3_000, ' '), ''],
])('git applies a diff of %s', (_what, text, formatted) => {
  const root = tempDir()
  writeFileSync(join(root, 'A.java'), text)
  execFileSync('git', ['apply', '--allow-empty', '-'], {
    cwd: root,
    input: unifiedDiff('A.java', text, formatted),
  })
  expect(readFileSync(join(root, 'A.java'), 'utf8')).toBe(formatted)
})

test('a text that differs everywhere is one issue, from its first to its last line', () => {
  const issues = styleIssues(`head\n${lines(3_000, '    ')}tail\n`, `head\n${lines(3_000, '  ')}tail\n`)
  expect(issues).toMatchObject([{ line: 2, endLine: 3_001, col: 3, ruleId: 'format' }])
})

test('separate lines are separate issues', () => {
  const issues = styleIssues('a\n b\nc\n d\n\n', 'a\nb\nc\nd\n')
  expect(issues.map(({ line, endLine, col }) => [line, endLine, col])).toEqual([
    [2, 2, 1],
    [4, 5, 1],
  ])
})
