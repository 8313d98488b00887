/** The terminal's alternate screen, without a cursor. */
export interface AlternateScreen {
  /** Replaces what is shown, from the first row. The lines must fit. */
  readonly draw: (lines: readonly string[]) => void
  /** Restores the terminal and stops reading keys. */
  readonly leave: () => void
}

/** Control sequences that switch to the alternate screen without a cursor. Source: xterm's control sequences, DECSET 1049 and 25. */
const ENTER = '\u001b[?1049h\u001b[?25l'
const LEAVE = '\u001b[?25h\u001b[?1049l'
const HOME = '\u001b[H'
const REST_OF_LINE = '\u001b[K'
const REST_OF_SCREEN = '\u001b[J'

/** Enters the alternate screen of this terminal and reads keys one by one. */
export function enterAlternateScreen(onKey: (key: string) => void): AlternateScreen {
  const { stdin, stdout } = process
  const onData = (bytes: Buffer): void => onKey(bytes.toString())
  stdin.setRawMode(true).on('data', onData)
  stdout.write(ENTER)
  return {
    draw: (lines) =>
      void stdout.write(HOME + lines.map((line) => line + REST_OF_LINE).join('\r\n') + REST_OF_SCREEN),
    leave() {
      stdin.off('data', onData).setRawMode(false).pause()
      stdout.write(LEAVE)
    },
  }
}
