import { fc } from '../../support/fast-check.ts'
import { expect, test } from 'vitest'
import { loginPath, safeNext } from '../../../src/content/page/next.ts'
import { rounds } from '../../support/rounds.ts'

const ORIGIN = 'https://docs.example'
const hosts = ['evil.com', 'evil.com:80', 'docs.example@evil.com', '[::1]', '2130706433', 'evil。com']
const starts = [
  '//',
  '/\\',
  '\\\\',
  '/\t/',
  '/\n/',
  '/\r/',
  '///',
  '////',
  '/\\/',
  '\\/',
  '/%09/',
  '/.//',
  '/..//',
  '/x/..//',
  '/%2e%2e//',
  '/./\\',
  'https://',
  'https:',
  'http:/',
  'HTTPS://',
  'javascript:',
  'data:',
  'ftp://',
  ' //',
  '\t//',
  '\u0000//',
  '?//',
  '#//',
  '@',
  '/@',
  '\u2028//',
  '/\u2028/',
  '//\u00a0',
  './/',
  '..//',
]
const table = [
  ...hosts.flatMap((host) => starts.map((start) => start + host)),
  '',
  '/',
  ' ',
  '\ud800',
  '/\ud800',
  `/${'x'.repeat(5_000)}`,
]

test.each(table)('O1 next %j stays on the site', (next) => {
  const to = safeNext(next)
  expect(new URL(to, ORIGIN).origin).toBe(ORIGIN)
  // Browsers interpret the header like the parser, and it contains nothing that they would interpret differently.
  expect(to).toMatch(/^\/(?![/\\])[\u0021-\u007e]*$/)
})

test('O1 any text as next stays on the site', { tags: ['long'] }, () => {
  const piece = fc.oneof(
    fc.constantFrom(...starts, ...hosts, '/', '..', '%2f', '%5c', '#', '?', '#\\', '\r\n'),
    fc.string({ unit: 'binary', maxLength: 5 }),
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 6 }), (pieces) => {
      const to = safeNext(pieces.join(''))
      return new URL(to, ORIGIN).origin === ORIGIN && /^\/(?![/\\])[\u0021-\u007e]*$/.test(to)
    }),
    { numRuns: rounds(4_000, 20_000) },
  )
})

test.each([
  ['/repos/guide/', '/repos/guide/'],
  ['/repos/a%20b/?q=1&x=%2F', '/repos/a%20b/?q=1&x=%2F'],
  ['/repos/a/#part-1', '/repos/a/#part-1'],
  ['/repos/a/?q=1#日', '/repos/a/?q=1#%E6%97%A5'],
  ['/#//evil.com', '/#//evil.com'],
  ['/repos/a/page.html#App\\Models\\User', '/repos/a/page.html#App\\Models\\User'],
  ['/repos/a/#\\\\evil.com', '/repos/a/#\\\\evil.com'],
  ['/repos/a/#a b"<>`{|}^\'%2#?', "/repos/a/#a%20b%22%3C%3E%60{|}^'%2#?"],
  ['/repos/a/#x\r\nset-cookie: a=b', '/repos/a/#xset-cookie:%20a=b'],
  ['/repos/a/#\u0000\u007f\ud800', '/repos/a/#%00%7F%EF%BF%BD'],
  ['/repos\\a/#part', '/'],
  ['/repos/a\n/#part', '/'],
  ['/x/..//evil.com#part', '/'],
  ['/_login#part', '/'],
  ['/repos/日本/', '/repos/%E6%97%A5%E6%9C%AC/'],
  ['/_login?next=/x', '/'],
  ['/_admin/cache/purge', '/'],
  [undefined, '/'],
])('next %j resolves to %s', (next, expected) => {
  expect(safeNext(next)).toBe(expected)
})

test('a section that makes next too long is dropped, not the page', () => {
  const longest = `/repos/a/?${'q'.repeat(3_500)}#${'x'.repeat(585)}`
  expect([longest.length, safeNext(longest)]).toEqual([4_096, longest])
  expect(safeNext(`${longest}x`)).toBe(`/repos/a/?${'q'.repeat(3_500)}`)
  expect(safeNext(`/repos/a/#${'x'.repeat(100_000)}`)).toBe('/repos/a/')
  expect(safeNext(`/repos/a/#${'ü'.repeat(1_000)}`)).toBe('/repos/a/')
  expect(safeNext(`/${'x'.repeat(4_096)}#part`)).toBe('/')
})

test.each(['/', '/repos/a b/', '/x?next=/y&z=1', '/repos/%2F%20+&=#'])(
  'the login page preserves %s',
  (path) => {
    expect(new URL(loginPath(path), ORIGIN).searchParams.get('next')).toBe(path)
  },
)
