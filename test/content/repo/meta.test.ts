import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MAX_META_BYTES, parseMeta } from '../../../src/content/repo/meta.ts'

const parse = (value: unknown) => parseMeta('guide', Buffer.from(JSON.stringify(value)))

test('a whole _meta.json is read, but its name is that of the folder', () => {
  const meta = {
    name: 'other',
    description: 'd',
    last_published: '2026-11-21T17:00:00.123Z',
    repo: 'a/b',
    url: 'https://x.example',
  }
  expect(parse(meta)).toEqual({
    name: 'guide',
    description: 'd',
    lastPublished: meta.last_published,
    repo: 'a/b',
    url: meta.url,
  })
})

test.each([
  ['wrong types', { description: 1, last_published: {}, repo: [], url: null, versions: 'x', latest: 3 }],
  ['an array', [1, 2]],
  ['a text', 'x'],
  ['null', null],
  ['a link that runs', { url: 'javascript:alert(1)' }],
  ['a link to another scheme', { url: 'data:text/html,x' }],
  ['a link without its scheme', { url: '//evil.com' }],
  ['no time', { last_published: 'yesterday' }],
  ['a time that is none', { last_published: '2026-13-45T00:00:00Z' }],
  ['a repo that is none', { repo: 'x' }],
  ['a version above', { latest: '../x' }],
  ['prototypes', { __proto__: { description: 'x' }, constructor: { name: 'x' } }],
])('O5 a _meta.json of %s has a name only', (_what, value) => {
  expect(parse(value)).toEqual({ name: 'guide' })
})

test.each([
  ['binary', randomBytes(1_000)],
  ['empty', Buffer.alloc(0)],
  ['cut', Buffer.from('{"description":"x')],
  ['no UTF-8', Buffer.from('7b226465736372697074696f6e223a22ff227d', 'hex')],
  ['nested', Buffer.from('['.repeat(30_000))],
  ['huge', Buffer.from(JSON.stringify({ description: 'x'.repeat(MAX_META_BYTES) }))],
])('O5 a _meta.json that is %s has a name only', (_what, bytes) => {
  expect(parseMeta('guide', bytes)).toEqual({ name: 'guide' })
})

test('O5 versions that are none are left out', () => {
  expect(parse({ versions: ['1.0', 2, '../x', '', 'ok'] })).toEqual({
    name: 'guide',
    versions: ['1.0', 'ok'],
  })
})

test('O5 whatever JSON it is, the result has only fields of their types', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const { name, description = '', url = '/' } = parse(value)
      return name === 'guide' && typeof description === 'string' && !/^javascript/i.test(url)
    }),
    { numRuns: 5_000 },
  )
})
