import { RE2JS } from 're2js'
import { messageOf } from '../../lib/errors/message.ts'
import { fault } from '../errors.ts'

/** Longer patterns make automata that take long to build. */
const MAX_PATTERN_LENGTH = 512

/** Which lines a reader wants; undefined wants all. */
export type LineTest = (text: string) => boolean

/**
 * Reads a pattern: a text that a line must hold, or a regular expression in RE2's syntax, which takes time in proportion
 * to the line whatever the pattern (threat V3).
 *
 * @throws INVALID_PATTERN
 */
export function createLineTest(pattern: string | undefined, isRegex: boolean): LineTest | undefined {
  if (pattern === undefined || pattern === '') return undefined
  if (pattern.length > MAX_PATTERN_LENGTH)
    throw fault(
      'INVALID_PATTERN',
      `the pattern has ${pattern.length} characters, at most ${MAX_PATTERN_LENGTH} are taken`,
    )
  if (!isRegex) return (text) => text.includes(pattern)
  try {
    const compiled = RE2JS.compile(pattern)
    return (text) => compiled.test(text)
  } catch (error) {
    throw fault(
      'INVALID_PATTERN',
      `the pattern is no regular expression of RE2's syntax, which has no look-around and no back-references: ${messageOf(error)}`,
      error,
    )
  }
}
