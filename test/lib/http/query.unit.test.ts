import { fc } from '../../support/fast-check.ts'
import { describe, expect, test } from 'vitest'
import { decodeQuery } from '../../../src/lib/http/query.ts'

const schema = {
  additionalProperties: false,
  properties: {
    lines: { type: 'integer', minimum: 1, maximum: 1000 },
    limit: { type: 'integer', minimum: 1, maximum: 1000, 'x-clamped': true },
    offset: { type: 'integer' },
    force: { type: 'boolean' },
    format: { type: 'string', enum: ['text', 'json'] },
    name: { type: 'string', pattern: '^[a-z]+$', description: 'lower-case letters' },
    plan: { type: 'string', minLength: 1 },
    scope: { type: 'array', items: { type: 'string', enum: ['images', 'logs'] } },
    raw: { description: 'any' },
  },
}

describe('a query is decoded by its schema', () => {
  test.each([
    [{}, {}],
    [
      { lines: '1000', offset: '0' },
      { lines: 1000, offset: 0 },
    ],
    [{ limit: '1001' }, { limit: 1000 }],
    [{ limit: '9'.repeat(40) }, { limit: 1000 }],
    [{ force: 'true' }, { force: true }],
    [
      { force: 'false', format: 'json', name: 'abc' },
      { force: false, format: 'json', name: 'abc' },
    ],
    [{ scope: 'logs' }, { scope: ['logs'] }],
    [{ format: 'JSON' }, { format: 'json' }],
    [{ scope: ['logs', 'images'] }, { scope: ['logs', 'images'] }],
    [{ raw: ['a', 'b'] }, { raw: ['a', 'b'] }],
  ])('%j becomes %j', (query, value) => {
    expect(decodeQuery(schema, query)).toEqual({ value })
  })

  test.each([
    [{ lines: '0' }, '"lines" must be a whole number from 1 to 1000, not "0"'],
    [{ lines: '' }, '"lines" must be a whole number from 1 to 1000, not ""'],
    [{ lines: '1e2' }, '"lines" must be a whole number from 1 to 1000, not "1e2"'],
    [{ limit: '0' }, '"limit" must be a whole number from 1 to 1000, not "0"'],
    [{ limit: '-1' }, '"limit" must be a whole number from 1 to 1000, not "-1"'],
    [{ limit: '1e9' }, '"limit" must be a whole number from 1 to 1000, not "1e9"'],
    [{ offset: '-1' }, '"offset" must be a whole number of at least 0, not "-1"'],
    [{ lines: ['1', '2'] }, '"lines" must not be given more than once'],
    [{ force: 'TRUE' }, '"force" must be true or false, not "TRUE"'],
    [{ force: '' }, '"force" must be true or false, not ""'],
    [{ format: 'xml' }, '"format" must be one of text, json, not "xml"'],
    [{ name: 'a b' }, '"name" must be lower-case letters, not "a b"'],
    [{ plan: '' }, '"plan" must not be empty'],
    [{ scope: ['logs', 'all'] }, '"scope" must be one of images, logs, not "all"'],
    [
      { dryrun: 'true' },
      '"dryrun" is unknown; known parameters: lines, limit, offset, force, format, name, plan, scope, raw',
    ],
  ])('%j is refused', (query, wrong) => {
    expect(decodeQuery(schema, query)).toEqual({ wrong })
  })

  test('any query decodes to what the schema promises or is refused', () => {
    const text = fc.oneof(
      fc.string(),
      fc.integer().map(String),
      fc.constantFrom('true', 'false', 'json', 'logs', ''),
    )
    const names = fc.oneof(
      fc.constantFrom(...Object.keys(schema.properties), '__proto__', 'toString'),
      fc.string(),
    )
    const queries = fc.dictionary(names, fc.oneof(text, fc.array(text, { minLength: 2, maxLength: 3 })))
    fc.assert(
      fc.property(queries, (query) => {
        const decoded = decodeQuery(schema, query)
        if ('wrong' in decoded) return decoded.wrong.startsWith('"')
        const {
          lines = 1,
          force = true,
          format = 'text',
          scope = [],
        } = decoded.value as Record<string, unknown>
        expect(Object.keys(schema.properties)).toEqual(
          expect.arrayContaining(Object.keys(decoded.value as object)),
        )
        expect(Number.isInteger(lines) && Number(lines) >= 1 && Number(lines) <= 1000).toBe(true)
        expect(typeof force).toBe('boolean')
        expect(['text', 'json']).toContain(format)
        expect(['images', 'logs']).toEqual(expect.arrayContaining(scope as string[]))
        return true
      }),
    )
  })
})

test('a query without a required parameter is rejected with its name', () => {
  const strict = { ...schema, required: ['name'] }
  expect(decodeQuery(strict, { name: 'abc' })).toEqual({ value: { name: 'abc' } })
  expect(decodeQuery(strict, { force: 'true' })).toEqual({ wrong: '"name" is missing; it is required' })
  // Only a request's own parameters count.
  expect(decodeQuery({ required: ['toString'] }, {})).toEqual({
    wrong: '"toString" is missing; it is required',
  })
})
