import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { wildcard } from '../../../src/analyzer/query/wildcard.ts'
import { builtProject } from '../../support/analyzer/analyzer-cli.ts'
import { startAnalyzer } from '../../support/analyzer/analyzer-server.ts'
import { classFile } from '../../support/analyzer/class-file.ts'

type Made = Parameters<typeof classFile>[1]

async function analyzerOf(classes: Readonly<Record<string, Made>>) {
  const root = builtProject()
  for (const [name, made] of Object.entries(classes)) {
    const file = join(root, 'target/classes', `${name}.class`)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, classFile(name, made))
  }
  const analyzer = await startAnalyzer(root)
  onTestFinished(() => analyzer.stop())
  return analyzer
}

test('A5 queries for classes that extend each other, or themselves, terminate', async () => {
  const { get } = await analyzerOf({
    'c/A': { superName: 'c/B' },
    'c/B': { superName: 'c/A' },
    'c/Self': { superName: 'c/Self' },
    'c/I': { isInterface: true, interfaces: ['c/J'] },
    'c/J': { isInterface: true, interfaces: ['c/I'] },
  })
  const { hierarchy } = await get('/hierarchy/c.A')
  expect(hierarchy.parent).toMatchObject({ classFqn: 'c.B', parent: null })
  expect(hierarchy.children).toMatchObject([{ classFqn: 'c.B', children: [] }])
  expect((await get('/hierarchy/c.Self')).hierarchy).toMatchObject({ parent: null, children: [] })
  const fqns = ({ directImplementations, indirectImplementations }: any) =>
    [directImplementations, indirectImplementations].map((each) => each.map(({ fqn }: any) => fqn))
  expect(fqns(await get('/implementations/c.A'))).toEqual([['c.B'], []])
  expect(fqns(await get('/implementations/c.I'))).toEqual([['c.J'], []])
  expect((await get('/classes', { extends: 'c.A' })).classes).toMatchObject([{ fqn: 'c.B' }])
  expect((await get('/implementations/c.Self')).totalCount).toBe(0)
  expect((await get('/graph/cycles')).cycles.map(({ members }: any) => members)).toEqual(
    expect.arrayContaining([
      ['c.A', 'c.B'],
      ['c.I', 'c.J'],
    ]),
  )
})

test('A5 queries for a chain or cycle of 1,000 classes succeed', async () => {
  const chain = Array.from({ length: 1_000 }, (_, at): [string, Made] => [
    `d/C${at}`,
    { superName: at === 0 ? 'd/C999' : `d/C${at - 1}` },
  ])
  const { get } = await analyzerOf(Object.fromEntries(chain))
  expect(await get('/implementations/d.C0')).toMatchObject({ totalCount: 999 })
  expect((await get('/graph/cycles')).cycles[0].size).toBe(1_000)
  let depth = 0
  for (let node = (await get('/hierarchy/d.C500')).hierarchy; node !== undefined; node = node.children[0])
    depth++
  expect(depth).toBe(1_000)
})

test('A5 queries for interfaces with 2^40 paths succeed, and report truncation', async () => {
  const levels = Array.from({ length: 40 }, (_, level) =>
    ['L', 'R'].map((side): [string, Made] => [
      `e/${side}${level}`,
      { isInterface: true, interfaces: level === 0 ? [] : [`e/L${level - 1}`, `e/R${level - 1}`] },
    ]),
  )
  const { get } = await analyzerOf(Object.fromEntries(levels.flat()))
  // Without a limit, these never end.
  expect((await get('/hierarchy/e.L39')).isCut).toBe(true)
  expect((await get('/hierarchy/e.R0')).isCut).toBe(true)
  expect((await get('/implementations/e.L0')).totalCount).toBe(78)
  expect((await get('/hierarchy/java.lang.Number')).isCut).toBe(undefined)
})

test('A6 any pattern takes time proportional to the text', () => {
  // Long enough that backtracking would not end.
  const text = 'a'.repeat(200_000)
  const patterns = [
    '*a'.repeat(400) + 'b',
    '*a*'.repeat(400) + 'b*',
    '*'.repeat(2_000) + 'b',
    `*${'a'.repeat(999)}b*`,
  ]
  for (const pattern of patterns) expect(wildcard(pattern)(text), pattern.slice(0, 20)).toBe(false)
})

test.each([
  ['a', 'a', true],
  ['a', 'ab', false],
  ['a*', 'ab', true],
  ['*b', 'ab', true],
  ['a*b', 'ab', true],
  ['ab*ba', 'aba', false],
  ['*', '', true],
  ['', '', true],
  ['**a**', 'bab', true],
  ['*a*c*', 'abcb', true],
  ['*c*a*', 'abc', false],
  ['a.b', 'axb', false],
  ['$[', '$[', true],
])('the pattern %j and %j: %j', (pattern, text, fits) => {
  expect(wildcard(pattern)(text)).toBe(fits)
})
