import { expect, test } from 'vitest'
import { interpolate, referencesOf } from '../../../src/supervisor/process/interpolate.ts'
import { fc } from '../../support/fast-check.ts'

const ENVIRONMENT = { A: 'a', B: '$A', EMPTY: '' }

/** A text with references, nested to any depth, and its value. */
const { value: texts } = fc.letrec<{ reference: readonly string[]; value: readonly string[] }>((tie) => ({
  reference: fc
    .record({
      name: fc.constantFrom('A', 'B', 'EMPTY', 'NONE'),
      operator: fc.constantFrom('-', ':-'),
      otherwise: tie('value'),
    })
    .map(({ name, operator, otherwise: [text = '', expected = ''] }) => {
      const value = { A: 'a', B: '$A', EMPTY: operator === '-' ? '' : undefined, NONE: undefined }[name]
      return [`\${${name}${operator}${text}}`, value ?? expected]
    }),
  value: fc
    .array(
      fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom(
          ['x', 'x'],
          ['{', '{'],
          ['\\', '\\'],
          [' ', ' '],
          ['$$', '$'],
          ['${A}', 'a'],
          ['${NONE}', ''],
        ),
        tie('reference'),
      ),
      { maxLength: 3 },
    )
    .map((parts) => [parts.map(([text]) => text).join(''), parts.map(([, expected]) => expected).join('')]),
}))

test('references in defaults are resolved at any depth', () => {
  fc.assert(
    fc.property(texts, ([text = '', expected = '']) => {
      expect(interpolate(text, ENVIRONMENT)).toBe(expected)
    }),
  )
})

test.each(['${A:-', '${A:-${B:-', '${', '$', '${1}', 'a}b'])('%s is text', (text) => {
  expect(interpolate(text, ENVIRONMENT)).toBe(text)
})

test('names in defaults are not reported as needed', () => {
  expect(referencesOf('$A ${B} ${C:-$D} ${E-${F}} $$G $A')).toEqual(['A', 'B'])
})
