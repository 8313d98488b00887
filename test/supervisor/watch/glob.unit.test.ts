import { expect, test } from 'vitest'
import { fixedPartOf, globSource, isGlob } from '../../../src/supervisor/watch/glob.ts'

const matches = (pattern: string, path: string): boolean =>
  new RegExp(`^(?:${globSource(pattern)})$`, 's').test(path)

test.each([
  ['src/*.ts', ['src/a.ts', 'src/.a.ts'], ['src/a.tsx', 'src/b/a.ts', 'a.ts']],
  ['src/**/*.ts', ['src/a.ts', 'src/b/c/a.ts'], ['src/a.js', 'lib/a.ts']],
  ['**/x', ['x', 'a/x', 'a/b/x'], ['xx', 'ax']],
  ['src/**', ['src/a', 'src/a/b'], ['src', 'srcs/a']],
  ['a?c', ['abc'], ['ac', 'a/c', 'abbc']],
  ['*.{js,ts}', ['a.js', 'a.ts'], ['a.j', 'a.jsts']],
  ['*.{js,{ts,tsx}}', ['a.js', 'a.tsx'], ['a.{js']],
  ['a.b+(c)[d]$^|', ['a.b+(c)[d]$^|'], ['aXb+(c)[d]$^|']],
  ['{a', ['{a'], ['a']],
  ['a,b}', ['a,b}'], ['a']],
  ['a***b', ['ab', 'axxb'], ['a/b']],
])('%s matches %j and not %j', (pattern, paths, others) => {
  expect(paths.filter((path) => !matches(pattern, path))).toEqual([])
  expect(others.filter((path) => matches(pattern, path))).toEqual([])
})

test('the fixed part of a pattern ends before its first wildcard', () => {
  expect(fixedPartOf('/a/b/*.ts')).toBe('/a/b')
  expect(fixedPartOf('/a/b.ts')).toBe('/a/b.ts')
  expect(fixedPartOf('/a{b,c}/d')).toBe('')
  expect([isGlob('/a/b'), isGlob('/a/**')]).toEqual([false, true])
})

test('any pattern is a valid expression', () => {
  for (const pattern of ['{', '}', '{}', '{{}', '{,}', '**', '*{', '[', '\\', '(', '***/**'])
    expect(() => new RegExp(globSource(pattern)), pattern).not.toThrow()
})
