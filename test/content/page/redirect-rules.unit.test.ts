import { fc } from '../../support/fast-check.ts'
import { expect, test } from 'vitest'
import { addressOf, RedirectRules } from '../../../src/content/page/redirect-rules.ts'
import { rounds } from '../../support/rounds.ts'

const FOLDER = ['repos', 'guide', '2.0']

/** Returns the status and address for a path. */
function go(text: string, path: string): string | undefined {
  const { rules, mistakes } = RedirectRules.parse(text)
  expect(mistakes).toEqual([])
  const found = rules.find(path === '' ? [] : path.split('/'))
  return found && `${found.status} ${addressOf(found, FOLDER)}`
}

test.each([
  ['/old /new', 'old', '302 /repos/guide/2.0/new'],
  ['/old/ /new/ 301', 'old', '301 /repos/guide/2.0/new/'],
  ['/ /start 307', '', '307 /repos/guide/2.0/start'],
  ['/old / 308', 'old', '308 /repos/guide/2.0/'],
  ['/* /index.html 200', 'a/b', '200 /repos/guide/2.0/index.html'],
  ['/blog/* /news/:splat', 'blog/a/b c', '302 /repos/guide/2.0/news/a/b%20c'],
  ['/blog/* /news/:splat', 'blog', '302 /repos/guide/2.0/news/'],
  ['/p/:year/:name /a/:name-:year#:name', 'p/2020/x', '302 /repos/guide/2.0/a/x-2020#x'],
  ['/a%20b /ü?q=ü', 'a b', '302 /repos/guide/2.0/%C3%BC?q=%C3%BC'],
  ['/x/* https://ex.example/:splat?a=1', 'x/y/..%2f', '302 https://ex.example/y/..%252f?a=1'],
  ['/x http://ex.example:8080/ü', 'x', '302 http://ex.example:8080/%C3%BC'],
  ['# no rule\n\n/a /b # note\n/a /c', 'a', '302 /repos/guide/2.0/b'],
  ['/wiki https://wiki.example/Help:Contents', 'wiki', '302 https://wiki.example/Help:Contents'],
  ['/urn https://r.example/urn:isbn:123?in=a:b', 'urn', '302 https://r.example/urn:isbn:123?in=a:b'],
  ['/p/:id https://t.example/Ticket:Open?id=:id', 'p/7', '302 https://t.example/Ticket:Open?id=7'],
  ['/p/:id https://t.example:8443/:id:8', 'p/7', '302 https://t.example:8443/7:8'],
  ['/f/:n /data:set.html#sec:one', 'f/7', '302 /repos/guide/2.0/data%3Aset.html#sec:one'],
  ['/a /b/:name', 'a', '302 /repos/guide/2.0/b/%3Aname'],
  ['/a:b/%3Ac/%2A /d', 'a:b/:c/*', '302 /repos/guide/2.0/d'],
  ['/a /b', 'A', undefined],
  ['/a /b', 'a/b', undefined],
])('rule %j for %j: %s', (text, path, expected) => {
  expect(go(text, path)).toBe(expected)
})

test.each([
  ['/a', 'a rule is'],
  ['a /b', 'begins with "/"'],
  ['/a /b 404', 'is not one of 301'],
  ['/a /b 301!', 'is not one of 301'],
  ['/a /b 301 Country=de', 'are not supported'],
  ['/a id=:id /b', 'are not supported'],
  ['/a/*/b /c', 'only as the last part'],
  ['/a/x* /c', 'only as the last part'],
  ['/dl/:name.zip /files/:name.zip', 'placeholder in ":name.zip" must be a whole part'],
  ['/a/:b/:b /c', '":b" occurs twice'],
  ['/a/:splat/* /c', '":splat" occurs twice'],
  ['/old?id=7 /new', 'without query; remove it, or write "%3F"'],
  ['/old? /new', 'without query'],
  ['/old/*?a=:b /new', 'without query'],
  ['/old#part /new', 'without fragment; remove it, or write "%23"'],
  ['/a//b /new', 'no page can have this path'],
  ['//a /new', 'no page can have this path'],
  ['/a// /new', 'no page can have this path'],
  ['/a/../b /new', 'no page can have this path'],
  ['/a/%2e /new', 'no page can have this path'],
  ['/a%2Fb /new', 'no page can have this path'],
  ['/a%ff /new', 'no page can have this path'],
  ['/a https://ex.example/ 200', 'must be a path'],
  ['/:h https://:h/', 'fixed host'],
  ['/:h https://ex.example:h/', 'fixed host'],
  ['/* https://ex.example.:splat/', 'fixed host'],
  ['/a https://me:pw@ex.example/', 'fixed host'],
  ['/a javascript:alert(1)', 'neither a path'],
  ['/a javascript:(1)', 'neither a path'],
  ['/a data:,x', 'neither a path'],
  ['/a //ex.example/', 'not a valid path'],
  ['/a /\\ex.example/', 'not a valid path'],
  ['/a /../other/', 'not a valid path'],
  ['/a /%2e%2e/other/', 'not a valid path'],
  ['/a /x%2fy', 'not a valid path'],
  ['/a /%ff', 'not a valid path'],
  [`/a /${'x'.repeat(1_000)}`, 'more than 1000 characters'],
])('%s is refused with its line: %s', (line, message) => {
  const { rules, mistakes } = RedirectRules.parse(`# first\n${line}\n`)
  expect(rules.size).toBe(0)
  expect(mistakes).toEqual([{ line: 2, message: expect.stringContaining(message) as string }])
})

test('a rule matches a name in any form of Unicode, and keeps the form of what it inserts', () => {
  const forms = ['\u00e9\u00e9', 'e\u0301e\u0301', '\u00e9e\u0301']
  for (const from of [...forms, ...forms.map(encodeURIComponent)])
    for (const path of forms)
      expect(go(`/${from}/* /x/:splat`, `${path}/${path}`)).toBe(
        `302 /repos/guide/2.0/x/${encodeURIComponent(path)}`,
      )
  expect(go('/\u212bngstrom /x', 'A\u030angstrom')).toBe('302 /repos/guide/2.0/x')
})

test('the number of rules is bounded', () => {
  const { rules, mistakes } = RedirectRules.parse('/a/b/c /d\n'.repeat(100_000))
  expect(rules.size).toBe(1_000)
  expect(mistakes).toEqual([{ line: 1_001, message: 'only 1000 rules are allowed' }])
})

test('O4 no rule and no path yields an address outside of the folder, or a header that is not ASCII', () => {
  const piece = fc.constantFrom(
    '/',
    'a',
    ':x',
    '*',
    '.',
    '..',
    '%2e',
    '%2f',
    '\\',
    ':',
    '@',
    '?',
    '#',
    'ü',
    '\u0001',
  )
  const part = fc.array(piece, { maxLength: 8 }).map((parts) => parts.join(''))
  const segment = fc.constantFrom('a', 'b', '..', '//', '%2e%2e', 'é', '?', '#', '\\', '\r\n')
  fc.assert(
    fc.property(part, part, fc.array(segment, { maxLength: 4 }), (from, to, path) => {
      for (const target of [`/${to}`, `https://ex.example/${to}`]) {
        const found = RedirectRules.parse(`/${from} ${target}`).rules.find(path)
        if (found === undefined) continue
        const address = addressOf(found, FOLDER)
        const { origin, pathname } = new URL(address, 'http://here.example')
        expect(address).toMatch(/^[\u0021-\u007e]+$/)
        if (found.path === undefined) expect(origin).toBe('https://ex.example')
        else expect([origin, pathname.startsWith('/repos/guide/2.0/')]).toEqual(['http://here.example', true])
      }
    }),
    { numRuns: rounds(400, 2_000) },
  )
})
