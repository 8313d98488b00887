import { describe, expect, test } from 'vitest'
import { nameKey, parseWorkspaceName } from '../../src/workspace/name.ts'
import { BAD_NAMES, GOOD_NAMES, NO_NAMES } from '../contract/names.ts'

describe('parseWorkspaceName', () => {
  test.each(GOOD_NAMES)('W1 takes %j', (name) => {
    expect(parseWorkspaceName(name)).toBe(name)
  })

  test.each([...BAD_NAMES, ...NO_NAMES])('W1 refuses %j', (name) => {
    expect(() => parseWorkspaceName(name)).toThrow(
      expect.objectContaining({ code: 'INVALID_WORKSPACE_NAME', kind: 'invalid' }),
    )
  })

  test('W1 the message shows little of a long name', () => {
    expect(() => parseWorkspaceName('é'.repeat(100_000))).toThrow(/^.{1,250}$/)
  })

  test('names that differ in case are one', () => {
    expect(nameKey('Foo')).toBe(nameKey('fOO'))
  })
})
