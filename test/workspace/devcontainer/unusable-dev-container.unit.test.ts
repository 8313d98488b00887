import { fc } from '../../support/fast-check.ts'
import { expect, test } from 'vitest'
import { found, read } from '../../support/workspace/dev-container.ts'

test.each([
  ['{"image": ', 'it is not valid JSON: ValueExpected in line 1'],
  ['{', 'it is not valid JSON: CloseBraceExpected in line 1'],
  ['', 'it is not valid JSON: ValueExpected in line 1'],
  ['\uFEFF', 'it is not valid JSON: ValueExpected in line 1'],
  ['[]', 'it is not an object'],
  ['null', 'it is not an object'],
  ['"x"', 'it is not an object'],
])('%j is unusable: %s', (content, why) => {
  expect(read(content)).toEqual({ is: 'bad', why })
})

const many = (count: number, value: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => value(i)).join(',')
const deep = (levels: number): string => `{"x":${'['.repeat(levels)}${']'.repeat(levels)}}`

test.each([
  ['arrays nested without end', '['.repeat(200_000), 'it is nested more than 32 levels deep'],
  ['objects nested without end', '{"a":'.repeat(40_000), 'it is nested more than 32 levels deep'],
  ['deep nesting of what is not read', deep(32), 'it is nested more than 32 levels deep'],
  ['very many values', `{"x":[${many(10_000, () => '0')}]}`, 'it has more than 10000 values'],
  ['an image in a prototype', '{"__proto__":{"image":"evil"}}', '"__proto__" is not a valid property'],
  ['a prototype by escapes', '{"\\u005f_proto__":{"image":"evil"}}', '"__proto__" is not a valid property'],
  [
    'a prototype of variables',
    '{"containerEnv":{"__proto__":{"A":"1"}}}',
    '"__proto__" is not a valid property',
  ],
  [
    'many variables',
    `{"remoteEnv":{${many(513, (i) => `"A${i}":"x"`)}}}`,
    'remoteEnv has 513 variables, more than 512',
  ],
  [
    'many ports',
    `{"forwardPorts":[${many(257, (i) => `${i + 1}`)}]}`,
    'forwardPorts has 257 ports, more than 256',
  ],
  [
    'many commands',
    `{"postCreateCommand":{${many(33, (i) => `"c${i}":"x"`)}}}`,
    'postCreateCommand has 33 commands, more than 32',
  ],
])('H9 a hostile file is refused: %s', (_what, text, why) => {
  expect(read(text)).toEqual({ is: 'bad', why })
})

test.each([
  ['references', `{"containerEnv":{"A":"${'${'.repeat(120_000)}"}}`],
  ['references in lines', `{"containerEnv":{"A":"${'${'.repeat(60_000)}${'\\n'.repeat(30_000)}}"}}`],
  ['complete references', `{"containerEnv":{"A":"${'${x}'.repeat(60_000)}"}}`],
  ['comments', '/*'.repeat(120_000)],
  ['lines', '\n'.repeat(250_000)],
  ['braces', '}'.repeat(250_000)],
  ['escapes', `{"image":"${'\\u0000'.repeat(40_000)}"}`],
  ['a name of a port', `{"forwardPorts":["${'1'.repeat(250_000)}"]}`],
])('a file full of %s is accepted or refused', (_what, text) => {
  expect(['found', 'bad']).toContain(read(text).is)
})

test('H9 names of Object.prototype are ordinary properties', () => {
  const config = found('{"constructor":{"prototype":{"image":"evil"}},"containerEnv":{"toString":"x"}}')
  expect(config).toMatchObject({ image: undefined, environment: { toString: 'x' } })
  expect(({} as { image?: string }).image).toBeUndefined()
})

test('no content of the file throws', () => {
  expect(read('['.repeat(200_000)).is).toBe('bad')
  const keys = [
    'image',
    'containerEnv',
    'remoteEnv',
    'forwardPorts',
    'postCreateCommand',
    '__proto__',
    'constructor',
  ]
  const content = fc.dictionary(fc.constantFrom(...keys), fc.jsonValue())
  const isRead = (each: unknown) => ['found', 'bad'].includes(read(each).is)
  fc.assert(fc.property(content, isRead))
  fc.assert(fc.property(fc.string(), isRead))
})
