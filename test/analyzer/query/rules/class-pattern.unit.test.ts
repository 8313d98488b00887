import { expect, test } from 'vitest'
import { ClassPattern, patternProblem } from '../../../../src/analyzer/query/rules/class-pattern.ts'
import { MemberPattern } from '../../../../src/analyzer/query/rules/member-pattern.ts'
import { Random } from '../../../support/differential/random.ts'

test.for<readonly [pattern: string, matching: readonly string[], others: readonly string[]]>([
  ['shop.web..', ['shop.web.A', 'shop.web.a.b.C$D'], ['shop.web', 'shop.webs.A', 'a.shop.web.B']],
  ['shop.web.*', ['shop.web.A', 'shop.web.A$B'], ['shop.web.a.B', 'shop.web']],
  ['..web..', ['web.A', 'a.web.B', 'a.web.b.C'], ['a.b.web', 'webs.A']],
  ['..*Service', ['Service', 'a.b.OrderService'], ['a.Services', 'a.Service.B']],
  ['a..b..C', ['a.b.C', 'a.x.b.y.C', 'a.b.b.C'], ['a.C', 'b.a.C', 'a.b.x']],
  ['..', ['A', 'a.b.C'], []],
  ['a..a', ['a.a', 'a.b.a'], ['a']],
])('%s matches classes', ([pattern, matching, others]) => {
  const { matches } = { matches: (name: string) => new ClassPattern(pattern).matches(name) }
  expect(matching.filter((name) => !matches(name))).toEqual([])
  expect(others.filter(matches)).toEqual([])
})

test('captured segments name a slice', () => {
  expect(new ClassPattern('shop.(*)..').sliceOf('shop.web.a.B')).toBe('web')
  expect(new ClassPattern('..(*).(*).*').sliceOf('a.b.c.D')).toBe('b.c')
  expect(new ClassPattern('(*)..(*).*').sliceOf('a.b.c.D')).toBe('a.c')
  expect(new ClassPattern('shop.(*)..').sliceOf('stock.web.A')).toBeUndefined()
})

test('patterns match what a backtracking search matches', () => {
  const random = new Random(7)
  const parts = ['a', 'b', 'ab', '*', 'a*', '*b', '..']
  let found = 0
  for (let round = 0; round < 20_000; round++) {
    const pattern = Array.from({ length: 1 + random.below(5) }, () => random.pick(parts))
      .join('.')
      .replaceAll(/\.?\.\.(?:\.+)?/g, '..')
    if (patternProblem(pattern) !== undefined) continue
    const name = Array.from({ length: 1 + random.below(5) }, () => random.pick(['a', 'b', 'ab', 'bab'])).join(
      '.',
    )
    const expected = bySearch(pattern, name)
    expect(new ClassPattern(pattern).matches(name), `${pattern} ${name}`).toBe(expected)
    found += Number(expected)
  }
  expect(found).toBeGreaterThan(1_000)
})

/** Tries every position of each `..`. */
function bySearch(pattern: string, name: string): boolean {
  const tokens = pattern.split(/(\.\.)|\./).filter((token) => token !== undefined && token !== '')
  const isOfPackages = tokens.at(-1) === '..'
  const rest = (token: number, names: readonly string[]): boolean => {
    const each = tokens[token]
    if (each === undefined) return names.length === 0
    if (each === '..') {
      const isLast = token === tokens.length - 1
      return names.some((_, at) => rest(token + 1, names.slice(at))) || rest(token + 1, []) || isLast
    }
    const [first, ...others] = names
    if (first === undefined) return false
    return new RegExp(`^${each.replaceAll('*', '.*')}$`).test(first) && rest(token + 1, others)
  }
  const names = name.split('.')
  return rest(0, isOfPackages ? names.slice(0, -1) : names)
}

test('a hostile pattern takes time proportional to the name', () => {
  const name = Array.from({ length: 20_000 }, () => 'a'.repeat(100)).join('.')
  const pattern = Array.from({ length: 40 }, () => '*a*a').join('..')
  expect(new ClassPattern(`${pattern}..b`).matches(name)).toBe(false)
})

test('a member pattern compares names and the parameters of an overload', () => {
  const exit = new MemberPattern('java.lang.System#exit(int)')
  expect([exit.matches('exit', '(I)V'), exit.matches('exit', '()V'), exit.matches('exits', '(I)V')]).toEqual([
    true,
    false,
    false,
  ])
  expect(new MemberPattern('a.B#<init>').matches('<init>', '()V')).toBe(true)
  expect(new MemberPattern('a.B#get*').matches('getName', '()V')).toBe(true)
})
