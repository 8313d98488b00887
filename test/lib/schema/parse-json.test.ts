import { expect, test } from 'vitest'
import { complaint, parseJson } from '../../../src/lib/schema/parse-json.ts'
import { Type } from '../../../src/lib/schema/type.ts'

const schema = Type.Object({
  name: Type.String(),
  files: Type.Array(Type.Object({ bytes: Type.Integer() }, { additionalProperties: false })),
})

test('a text of the schema is read, with keys that it does not name', () => {
  const value = { name: 'a', files: [{ bytes: 1 }], later: true }
  expect(parseJson(schema, JSON.stringify(value))).toEqual(value)
})

test.each([
  '',
  '{',
  'null',
  '[]',
  '"a"',
  '{"name":"a"}',
  '{"name":1,"files":[]}',
  '{"name":"a","files":[{}]}',
])('a text that is something else is not: %s', (text) => {
  expect(parseJson(schema, text)).toBeUndefined()
})

test.each([
  [{ name: 'a', files: [] }, undefined],
  [null, 'it must be object'],
  [{ files: [] }, "it must have required property 'name'"],
  [{ name: 'a', files: [{ bytes: 1.5 }] }, 'files.0.bytes must be integer'],
  [{ name: 'a', files: [{ bytes: 1, more: 2 }] }, 'files.0.more is unknown'],
])('a complaint names the place: %j', (value, said) => {
  expect(complaint(schema, value)).toBe(said)
})
