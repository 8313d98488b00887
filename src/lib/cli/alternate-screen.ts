import { type Input, InputReader } from './terminal-input.ts'

/** The terminal's alternate screen, without a cursor. */
export interface AlternateScreen {
  /** Replaces what is shown, from the first row. The lines must fit. */
  readonly draw: (lines: readonly string[]) => void
  /** Draws every row the next time, because the size or the contents of the terminal have changed. */
  readonly forget: () => void
  /** Switches reports of the mouse on or off; they are off at first. */
  readonly setMouse: (isOn: boolean) => void
  /** Restores the terminal and stops reading input. */
  readonly leave: () => void
}

// Source of the control sequences: xterm's control sequences, DECSET.
/** The alternate screen (1049) without a cursor (25), without line breaks at the right edge (7), with marked pastes (2004). */
const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[?2004h'
const LEAVE = '\u001b[?2004l\u001b[?7h\u001b[?25h\u001b[?1049l'
/** Buttons (1000) with places of any size (1006). */
const MOUSE_ON = '\u001b[?1000h\u001b[?1006h'
const MOUSE_OFF = '\u001b[?1006l\u001b[?1000l'
/** Shows a frame at once (2026). */
const BEGIN = '\u001b[?2026h'
const END = '\u001b[?2026l'
const CLEAR = '\u001b[2J'
const CLEAR_LINE = '\u001b[2K'
/** Time after which the start of a key sequence is the Escape key; as in Vim. */
const ESCAPE_MS = 100

/**
 * Enters the alternate screen of this terminal and reads its input. The end of this program restores the terminal too.
 * Ctrl-Z stops the program as a shell does, with the terminal restored meanwhile.
 *
 * @param onContinue called when the screen must be drawn again, because the program was stopped
 */
export function enterAlternateScreen(
  onInput: (input: Input) => void,
  onContinue: () => void,
): AlternateScreen {
  const { stdin, stdout } = process
  let hasLeft = false
  let hasMouse = false
  const reader = new InputReader()
  let escaping: NodeJS.Timeout | undefined
  /** Rows as they are shown; undefined if unknown. */
  let shown: readonly string[] | undefined
  const enter = (): void => {
    stdin.setRawMode(true)
    stdout.write(`${ENTER}${hasMouse ? MOUSE_ON : ''}`)
  }
  const restore = (): void => {
    stdin.setRawMode(false)
    stdout.write(`${hasMouse ? MOUSE_OFF : ''}${LEAVE}`)
  }
  const enterAgain = (): void => {
    if (hasLeft) return
    // Otherwise the mode that Node.js knows, and the shell has changed, is not set again.
    stdin.setRawMode(false)
    enter()
    shown = undefined
    onContinue()
  }
  const suspend = (): void => {
    restore()
    // The whole job, as the terminal's own Ctrl-Z.
    process.kill(0, 'SIGTSTP')
    // Nothing stops it without a shell that controls jobs, and then nothing continues it either.
    setImmediate(enterAgain)
  }
  const take = (inputs: readonly Input[]): void => {
    for (const input of inputs) {
      // One of them may be the last that the program wants.
      if (hasLeft) return
      if (input.is === 'key' && input.key === 'ctrl-z') suspend()
      else onInput(input)
    }
  }
  const read = (bytes: Buffer): void => {
    clearTimeout(escaping)
    take(reader.read(bytes))
    if (reader.isUnfinished) escaping = setTimeout(() => take(reader.finish()), ESCAPE_MS)
  }
  const leave = (): void => {
    if (hasLeft) return
    hasLeft = true
    clearTimeout(escaping)
    process.off('exit', leave).off('SIGCONT', enterAgain)
    stdin.off('data', read).pause()
    restore()
  }
  // A shell sets the terminal's mode when a job continues, also one that another program stopped.
  process.once('exit', leave).on('SIGCONT', enterAgain)
  stdin.on('data', read)
  enter()
  return {
    draw(lines) {
      const before = shown
      const changed = lines.flatMap((line, at) =>
        line === before?.[at] ? [] : [`\u001b[${at + 1};1H${CLEAR_LINE}${line}`],
      )
      for (let at = lines.length; at < (before?.length ?? 0); at++)
        changed.push(`\u001b[${at + 1};1H${CLEAR_LINE}`)
      shown = lines
      if (changed.length > 0)
        stdout.write(`${BEGIN}${before === undefined ? CLEAR : ''}${changed.join('')}${END}`)
    },
    forget() {
      shown = undefined
    },
    setMouse(isOn) {
      if (isOn !== hasMouse) stdout.write(isOn ? MOUSE_ON : MOUSE_OFF)
      hasMouse = isOn
    },
    leave,
  }
}
