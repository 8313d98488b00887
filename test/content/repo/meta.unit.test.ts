import { fc } from '../../support/fast-check.ts'
import { expect, test } from 'vitest'
import { MAX_META_BYTES, parseMeta } from '../../../src/content/repo/meta.ts'
import { rounds } from '../../support/rounds.ts'

const parse = (value: unknown) => parseMeta('guide', Buffer.from(JSON.stringify(value)))

test('a complete _meta.json is read, but the name is the folder’s', () => {
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
  ['a link with a script', { url: 'javascript:alert(1)' }],
  ['a link to another scheme', { url: 'data:text/html,x' }],
  ['a link without its scheme', { url: '//evil.com' }],
  ['an invalid time', { last_published: 'yesterday' }],
  ['an impossible time', { last_published: '2026-13-45T00:00:00Z' }],
  ['an invalid repo', { repo: 'x' }],
  ['a version outside', { latest: '../x' }],
  ['prototypes', { __proto__: { description: 'x' }, constructor: { name: 'x' } }],
])('O5 a _meta.json of %s yields only a name', (_what, value) => {
  expect(parse(value)).toEqual({ name: 'guide' })
})

test.each([
  ['binary', Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))],
  ['empty', Buffer.alloc(0)],
  ['cut', Buffer.from('{"description":"x')],
  ['not UTF-8', Buffer.from('7b226465736372697074696f6e223a22ff227d', 'hex')],
  ['nested', Buffer.from('['.repeat(30_000))],
  ['huge', Buffer.from(JSON.stringify({ description: 'x'.repeat(MAX_META_BYTES) }))],
])('O5 a _meta.json that is %s yields only a name', (_what, bytes) => {
  expect(parseMeta('guide', bytes)).toEqual({ name: 'guide' })
})

test('O5 invalid versions are omitted', () => {
  expect(parse({ versions: ['1.0', 2, '../x', '', 'ok'] })).toEqual({
    name: 'guide',
    versions: ['1.0', 'ok'],
  })
})

test('O5 for any JSON the result has only fields of the right types', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const { name, description = '', url = '/' } = parse(value)
      return name === 'guide' && typeof description === 'string' && !/^javascript/i.test(url)
    }),
    { numRuns: rounds(1_000, 5_000) },
  )
})
