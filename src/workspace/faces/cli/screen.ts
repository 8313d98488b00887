/** The terminal's alternate screen. */
export interface Screen {
  readonly isClosed: boolean
  /** Resolves when the user quits. */
  readonly closed: Promise<void>
  /** Replaces what is shown; lines that do not fit are left out. */
  readonly show: (text: string) => void
  /** Restores the terminal. */
  readonly close: () => void
}

const ENTER = '\u001B[?1049h\u001B[?25l'
const LEAVE = '\u001B[?25h\u001B[?1049l'
const HOME = '\u001B[H'
const CLEAR_LINE = '\u001B[K'
const CLEAR_REST = '\u001B[J'
/** Keys that quit: q, Q, Ctrl-C, Escape. */
const QUIT = new Set(['q', 'Q', '\u0003', '\u001B'])

/** Opens the alternate screen and reads keys. The text to show must be free of control characters except line breaks. */
export function openScreen(): Screen {
  const { stdin, stdout } = process
  let isClosed = false
  const { promise: closed, resolve: quit } = Promise.withResolvers<void>()
  const close = (): void => {
    if (isClosed) return
    isClosed = true
    stdin.off('data', onKey).setRawMode(false).pause()
    stdout.write(LEAVE)
    quit()
  }
  const onKey = (key: Buffer): void => {
    if (QUIT.has(key.toString())) close()
  }
  stdin.setRawMode(true).on('data', onKey)
  process.once('SIGTERM', close)
  stdout.write(ENTER)
  return {
    get isClosed() {
      return isClosed
    },
    closed,
    show(text) {
      if (isClosed) return
      // Some terminals do not know their size.
      const lines = text.split('\n').slice(0, (stdout.rows || 24) - 1)
      const fitting = lines.map((line) => line.slice(0, stdout.columns || 80) + CLEAR_LINE)
      stdout.write(HOME + fitting.join('\r\n') + CLEAR_REST)
    },
    close,
  }
}
