import { enterAlternateScreen } from '../../../lib/cli/alternate-screen.ts'

/** A screen that the user can quit. */
export interface Screen {
  readonly isClosed: boolean
  /** Resolves when the user quits. */
  readonly closed: Promise<void>
  /** Replaces what is shown; lines that do not fit are left out. */
  readonly show: (text: string) => void
  /** Restores the terminal. */
  readonly close: () => void
}

const QUIT = new Set(['q', 'Q', 'ctrl-c', 'escape'])

/** Opens the alternate screen and reads keys. The text to show must be free of control characters except line breaks. */
export function openScreen(): Screen {
  const { stdout } = process
  let isClosed = false
  let lines: readonly string[] = []
  const draw = (): void => screen.draw(lines)
  const { promise: closed, resolve: quit } = Promise.withResolvers<void>()
  const close = (): void => {
    if (isClosed) return
    isClosed = true
    screen.leave()
    quit()
  }
  const screen = enterAlternateScreen((input) => {
    if (input.is === 'key' && QUIT.has(input.key)) close()
  }, draw)
  process.once('SIGTERM', close)
  return {
    get isClosed() {
      return isClosed
    },
    closed,
    show(text) {
      if (isClosed) return
      // Some terminals do not know their size.
      lines = text
        .split('\n')
        .slice(0, (stdout.rows || 24) - 1)
        .map((line) => line.slice(0, stdout.columns || 80))
      draw()
    },
    close,
  }
}
