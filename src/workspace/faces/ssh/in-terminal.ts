import type { Readable } from 'node:stream'
import type { TerminalModes } from '../../../lib/ssh/terminal-modes.ts'

/** Control characters as stty(1) names them, by opcode. Linux has no other. */
const CHARACTERS: ReadonlyMap<number, string> = new Map([
  [1, 'intr'],
  [2, 'quit'],
  [3, 'erase'],
  [4, 'kill'],
  [5, 'eof'],
  [6, 'eol'],
  [7, 'eol2'],
  [8, 'start'],
  [9, 'stop'],
  [10, 'susp'],
  [12, 'rprnt'],
  [13, 'werase'],
  [14, 'lnext'],
])
/** Flags as stty(1) names them, by opcode. A Linux pseudo-terminal has 8 bits and no parity. */
const FLAGS: ReadonlyMap<number, string> = new Map([
  [30, 'ignpar'],
  [31, 'parmrk'],
  [32, 'inpck'],
  [33, 'istrip'],
  [34, 'inlcr'],
  [35, 'igncr'],
  [36, 'icrnl'],
  [37, 'iuclc'],
  [38, 'ixon'],
  [39, 'ixany'],
  [40, 'ixoff'],
  [41, 'imaxbel'],
  [42, 'iutf8'],
  [50, 'isig'],
  [51, 'icanon'],
  [52, 'xcase'],
  [53, 'echo'],
  [54, 'echoe'],
  [55, 'echok'],
  [56, 'echonl'],
  [57, 'noflsh'],
  [58, 'tostop'],
  [59, 'iexten'],
  [60, 'echoctl'],
  [61, 'echoke'],
  [70, 'opost'],
  [71, 'olcuc'],
  [72, 'onlcr'],
  [73, 'ocrnl'],
  [74, 'onocr'],
  [75, 'onlret'],
])
const SPEEDS: ReadonlyMap<number, string> = new Map([
  [128, 'ispeed'],
  [129, 'ospeed'],
])
/** Speeds that every stty knows, in bits per second: it sets nothing if it does not know one of its arguments. */
const KNOWN_SPEEDS = new Set([
  50, 75, 110, 150, 200, 300, 600, 1200, 1800, 2400, 4800, 9600, 19_200, 38_400, 57_600, 115_200, 230_400,
  460_800, 500_000, 576_000, 921_600, 1_000_000, 1_152_000, 1_500_000, 2_000_000, 2_500_000, 3_000_000,
  3_500_000, 4_000_000,
])
const DISABLED = 255
const READY = 0

/**
 * Wraps a program in a shell that prepares its terminal as sshd does: the client's modes, and `SSH_TTY`. No backend has a
 * terminal before its program runs, so the shell prints a NUL when it is ready, which {@link untilReady} takes away.
 */
export function inTerminal(argv: readonly string[], modes: TerminalModes): readonly string[] {
  const settings = sttyArguments(modes)
  const script = [
    'if SSH_TTY=$(tty 2>/dev/null); then export SSH_TTY; else unset SSH_TTY; fi',
    ...(settings.length === 0 ? [] : [`stty ${settings.join(' ')} 2>/dev/null`]),
    String.raw`printf '\0'`,
    'exec "$@"',
  ].join('\n')
  return ['/bin/sh', '-c', script, 'sh', ...argv]
}

/** Returns the arguments of stty(1), words without special characters, that set the given modes. Unknown ones are left out. */
export function sttyArguments(modes: TerminalModes): readonly string[] {
  return [...modes].flatMap(([opcode, value]) => {
    const character = CHARACTERS.get(opcode)
    if (character !== undefined) return [character, characterText(value & 0xff)]
    const flag = FLAGS.get(opcode)
    if (flag !== undefined) return [value === 0 ? `-${flag}` : flag]
    const speed = SPEEDS.get(opcode)
    return speed !== undefined && KNOWN_SPEEDS.has(value) ? [speed, String(value)] : []
  })
}

/** One digit would be taken for the character itself. */
function characterText(value: number): string {
  if (value === 0 || value === DISABLED) return 'undef'
  return value < 10 ? `^${String.fromCodePoint(0x40 + value)}` : String(value)
}

/**
 * Waits until the program of {@link inTerminal} has a prepared terminal: input that arrives earlier would be echoed by the
 * settings of a new one. Also resolves when the program could not be started; its first output is then the reason.
 */
export async function untilReady(output: Readable): Promise<void> {
  await new Promise<void>((resolve) => output.once('readable', resolve).once('close', resolve))
  const first = output.read() as Buffer | null
  if (first === null) return
  const rest = first[0] === READY ? first.subarray(1) : first
  if (rest.length > 0) output.unshift(rest)
}
