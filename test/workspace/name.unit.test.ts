import { describe, expect, test } from 'vitest'
import { nameKey, parseWorkspaceName } from '../../src/workspace/name.ts'
import { BAD_NAMES, GOOD_NAMES, NO_NAMES } from '../contract/names.ts'

describe('parseWorkspaceName', () => {
  test.each(GOOD_NAMES)('W1 accepts %j', (name) => {
    expect(parseWorkspaceName(name)).toBe(name)
  })

  test.each([...BAD_NAMES, ...NO_NAMES])('W1 refuses %j', (name) => {
    expect(() => parseWorkspaceName(name)).toThrow(
      expect.objectContaining({ code: 'INVALID_WORKSPACE_NAME', kind: 'invalid' }),
    )
  })

  test('W1 truncates a long name in the message', () => {
    expect(() => parseWorkspaceName('é'.repeat(100_000))).toThrow(/^.{1,250}$/)
  })

  test('names are case-insensitive', () => {
    expect(nameKey('Foo')).toBe(nameKey('fOO'))
  })
})
