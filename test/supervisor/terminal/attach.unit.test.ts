import { describe, expect, test } from 'vitest'
import { DetachKeys, parseDetachKeys } from '../../../src/supervisor/faces/cli/attach/detach-keys.ts'
import { TerminalModes } from '../../../src/supervisor/faces/cli/attach/terminal-modes.ts'

const P = '\u0010'
const Q = '\u0011'

describe('detach keys', () => {
  test.each([
    ['ctrl-p,ctrl-q', P + Q],
    ['ctrl-],x', '\u001dx'],
    ['CTRL-A', '\u0001'],
    ['ctrl-@', '\u0000'],
    ['a,b', 'ab'],
  ])('%s are the bytes %j', (text, bytes) => {
    expect(parseDetachKeys(text)?.toString()).toBe(bytes)
  })

  test.each(['', 'ctrl-', 'ctrl-1', 'ab', 'a,', 'é'])('%j are refused', (text) => {
    expect(parseDetachKeys(text)).toBe(undefined)
  })

  /** Types pieces and returns what is sent, with `!` for a detachment. */
  const typing = (...pieces: readonly string[]): string => {
    const keys = new DetachKeys(Buffer.from(P + Q))
    let sent = ''
    for (const piece of pieces) {
      const { input, isDetach } = keys.read(Buffer.from(piece))
      sent += input.toString()
      if (isDetach) return `${sent}!`
    }
    return sent
  }

  test.each([
    [['abc'], 'abc'],
    [[`a${P}${Q}b`], 'a!'],
    [['a', P, Q], 'a!'],
    // The first key alone waits for the next one, and is then sent.
    [['a', P], 'a'],
    [['a', P, 'b'], `a${P}b`],
    [['a', P, P, Q], `a${P}!`],
    [[`${Q}${P}x`], `${Q}${P}x`],
  ])('typing %j sends %j', (pieces, sent) => {
    expect(typing(...pieces)).toBe(sent)
  })
})

describe('modes of a terminal', () => {
  const resetAfter = (...pieces: readonly string[]): string => {
    const modes = new TerminalModes()
    for (const piece of pieces) modes.read(Buffer.from(piece))
    return modes.reset()
  }

  test.each([
    [['plain'], ''],
    [['\u001b[?1049h\u001b[?25l'], '\u001b[?1049l\u001b[?25h'],
    [['\u001b[?1049h', '\u001b[?1049l'], ''],
    [['\u001b[?10', '49h'], '\u001b[?1049l'],
    [['\u001b[?1002;1006h'], '\u001b[?1002l\u001b[?1006l'],
    [['\u001b[?25h'], ''],
  ])('after %j are reset with %j', (pieces, reset) => {
    expect(resetAfter(...pieces)).toBe(`\u001b[0m${reset}`)
  })

  test('are bounded', () => {
    const many = Array.from({ length: 1_000 }, (_, at) => `\u001b[?${at + 100}h`)
    expect(resetAfter(...many).split('l').length).toBeLessThanOrEqual(101)
  })
})
