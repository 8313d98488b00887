import { expect, test } from 'vitest'
import { complaint, parseJson } from '../../../src/lib/schema/parse-json.ts'
import { Type } from '../../../src/lib/schema/type.ts'

const schema = Type.Object({
  name: Type.String(),
  files: Type.Array(Type.Object({ bytes: Type.Integer() }, { additionalProperties: false })),
})

test('a valid text is parsed, with additional keys', () => {
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
])('an invalid text is refused: %s', (text) => {
  expect(parseJson(schema, text)).toBeUndefined()
})

test.each([
  [{ name: 'a', files: [] }, undefined],
  [null, 'it must be object'],
  [{ files: [] }, "it must have required property 'name'"],
  [{ name: 'a', files: [{ bytes: 1.5 }] }, 'files.0.bytes must be integer'],
  [{ name: 'a', files: [{ bytes: 1, more: 2 }] }, 'files.0.more is unknown'],
])('an error names the location: %j', (value, said) => {
  expect(complaint(schema, value)).toBe(said)
})
