import { expect, test } from 'vitest'
import { labelOf, placeOf } from '../../../../../src/content/faces/http/page/version-links.ts'

test.each([
  ['/repos/guide/2.0/a/b.html', { query: '?repo=guide', current: '2.0', page: 'a/b.html' }],
  ['/repos/guide/2.0/', { query: '?repo=guide', current: '2.0', page: '' }],
  ['/repos/a%20b/x%2Fy/%C3%A9/', { query: '?repo=a%20b', current: 'x/y', page: '%C3%A9/' }],
  ['/2.0/a.html', { query: '', current: '2.0', page: 'a.html' }],
  ['/repos/guide/2.0', undefined],
  ['/repos/guide/', { query: '?repo=guide', current: '', page: '' }],
  ['/page.html', undefined],
  ['/%ff/x', undefined],
])('the version switcher finds the version of %s', (path, expected) => {
  const place = placeOf(path)
  expect(place?.current === '' ? undefined : place).toEqual(expected?.current === '' ? undefined : expected)
})

test('the name of a version lists its aliases and its end', () => {
  expect(labelOf({ version: '2.0', aliases: [] })).toBe('2.0')
  expect(labelOf({ version: '2.0', aliases: ['latest', 'stable'] })).toBe('2.0 (latest, stable)')
  expect(labelOf({ version: 'pr-42', aliases: [], expires: '2026-12-10T09:00:00.000Z' })).toBe(
    'pr-42 (until 2026-12-10)',
  )
})
