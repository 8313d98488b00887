import { expect, test } from 'vitest'
import { parseOsv, targetOf } from '../../../../src/analyzer/faces/cli/osv-targets.ts'

test.each([
  ['a.b.C.method', 'a.b.C#method'],
  ['a.b.C#method', 'a.b.C#method'],
  ['a.b.C::method', 'a.b.C#method'],
  ['a/b/C.method(int, String)', 'a.b.C#method'],
  ['a.b.C.C', 'a.b.C#<init>'],
  ['a.b.C.<init>', 'a.b.C#<init>'],
  ['a.b.C', 'a.b.C'],
  ['a.b.C$Inner', 'a.b.C$Inner'],
  ['C', 'C'],
])('%s is the target %s', (written, expected) => {
  expect(targetOf(written)).toBe(expected)
})

test('the fields of GitHub, Go and RustSec are read for Maven, from one record or several', () => {
  const record = {
    id: 'A',
    modified: '2026-01-01T00:00:00Z',
    affected: [
      {
        package: { ecosystem: 'Maven', name: 'a:b' },
        ecosystem_specific: { affected_functions: ['a.B.one'], affects: { functions: ['a.B.two'] } },
        database_specific: { imports: [{ path: 'a.B', symbols: ['three'] }, { path: 'a.C' }] },
      },
      { package: { ecosystem: 'PyPI' }, ecosystem_specific: { affected_functions: ['p.q'] } },
    ],
  }
  const expected = [{ id: 'A', targets: ['a.B#one', 'a.B#two', 'a.B#three', 'a.C'] }]
  for (const written of [record, [record], { vulns: [record] }])
    expect(parseOsv(JSON.stringify(written), 'file')).toEqual(expected)
  expect(parseOsv('{"id": "B"}', 'file')).toEqual([{ id: 'B', targets: [] }])
  for (const text of ['', '[1]', '{"name": "x"}'])
    expect(() => parseOsv(text, 'file.json')).toThrow('file.json does not contain OSV records')
})
