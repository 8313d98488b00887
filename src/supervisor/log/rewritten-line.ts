import { withoutEscapes } from './log-line.ts'

const RETURN = '\r'
const NOTHING = Buffer.alloc(0)

/** Returns a line as its carriage returns leave it: what the last of them that text follows has not overwritten. */
export function lastState(line: Buffer): Buffer {
  return Buffer.from(lastStateOf(line.toString('latin1')), 'latin1')
}

/** Returns the last states of lines that each end with a newline. */
export function lastStates(lines: Buffer): Buffer {
  return Buffer.from(lines.toString('latin1').split('\n').map(lastStateOf).join('\n'), 'latin1')
}

function lastStateOf(line: string): string {
  let end = line.length
  while (end > 0 && line[end - 1] === RETURN) end--
  return line.slice(line.lastIndexOf(RETURN, end - 1) + 1, end)
}

// oxlint-disable-next-line no-control-regex -- it matches the beginning of an escape sequence
const BEGUN_ESCAPE = /\u001b(?:\[[0-?]*[ -/]*|[\]PX^_][^\u0007\u001b]*\u001b?|[ -/]*)$/

/**
 * Returns a state without the beginning of a UTF-8 character or control sequence (ECMA-48) at its end. Returns nothing
 * for a state that a terminal does not show.
 */
export function shownState(state: Buffer): Buffer {
  const characters = state.subarray(0, endOfCharacters(state))
  const begun = BEGUN_ESCAPE.exec(characters.toString('latin1'))
  const whole = characters.subarray(0, begun?.index)
  return withoutEscapes(whole.toString('utf8')).trim() === '' ? NOTHING : whole
}

function endOfCharacters(bytes: Buffer): number {
  let last = bytes.length - 1
  while (last > bytes.length - 4 && ((bytes[last] ?? 0) & 0xc0) === 0x80) last--
  const first = bytes[last] ?? 0
  const size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1
  return last + size > bytes.length ? last : bytes.length
}
