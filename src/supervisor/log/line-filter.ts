import { RE2JS } from 're2js'
import { messageOf } from '../../lib/errors/message.ts'
import { fault } from '../errors.ts'

/** Maximum length of a pattern; longer ones produce automata that are slow to build. */
const MAX_PATTERN_LENGTH = 512

/** Selects the lines of a reader. */
export type LineTest = (text: string) => boolean

/**
 * Parses a pattern: text that a line must contain, or an RE2 regular expression, which is matched in time linear
 * to the line for any pattern (threat V3).
 *
 * @throws INVALID_PATTERN when it is too long or not valid
 */
export function createLineTest(pattern: string | undefined, isRegex: boolean): LineTest | undefined {
  if (pattern === undefined || pattern === '') return undefined
  if (pattern.length > MAX_PATTERN_LENGTH)
    throw fault(
      'INVALID_PATTERN',
      `the pattern has ${pattern.length} characters; at most ${MAX_PATTERN_LENGTH} are allowed`,
    )
  if (!isRegex) return (text) => text.includes(pattern)
  try {
    const compiled = RE2JS.compile(pattern)
    return (text) => compiled.test(text)
  } catch (error) {
    throw fault(
      'INVALID_PATTERN',
      `the pattern is not a valid RE2 regular expression (RE2 has no look-around and no back-references): ${messageOf(error)}`,
      error,
    )
  }
}
