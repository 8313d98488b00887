import '@xterm/xterm/css/xterm.css'
import { FitAddon } from '@xterm/addon-fit'
import { Terminal } from '@xterm/xterm'
import { copyText } from '../parts/copy-line.tsx'
import { keepStylesApart } from './strict-styles.ts'
import { followTheme } from './theme.ts'
import { connectTerminal, type TerminalConnection, type TerminalState } from './terminal-connection.ts'

export interface OpenTerminal {
  /** After it ended or failed. */
  readonly reopen: () => void
  /** Whether screen readers are told what is printed; that costs much where much is printed. */
  readonly readAloud: (isOn: boolean) => void
  readonly close: () => void
}

interface TerminalOptions {
  readonly name: string
  readonly session: string | undefined
  readonly isReadAloud: boolean
  readonly onState: (state: TerminalState) => void
}

/** Credit is given back in pieces of this size, so that few messages are spent on it. */
const TAKEN_STEP_BYTES = 128 * 1024

keepStylesApart()

/** A terminal in an element of the page, joined with a program in a workspace. */
export function openTerminal(
  place: HTMLElement,
  { name, session, isReadAloud, onState }: TerminalOptions,
): OpenTerminal {
  const terminal = new Terminal({
    fontFamily: getComputedStyle(place).fontFamily,
    fontSize: 13,
    scrollback: 5_000,
    screenReaderMode: isReadAloud,
  })
  const fit = new FitAddon()
  terminal.loadAddon(fit)
  terminal.open(place)
  terminal.textarea?.setAttribute('aria-label', name)
  const leaveTheme = followTheme(terminal)
  fit.fit()
  terminal.attachCustomKeyEventHandler((event) => handleKey(event, terminal))

  let connection: TerminalConnection | undefined
  const connect = (): void => {
    let takenBytes = 0
    connection = connectTerminal({
      name,
      session,
      size: () => ({ columns: terminal.cols, rows: terminal.rows }),
      onState(state) {
        onState(state)
        if (state.is === 'open') terminal.focus()
      },
      onOutput(bytes) {
        // Told when it is drawn, not when it came: so the server sends no faster than this page can draw.
        terminal.write(bytes, () => {
          takenBytes += bytes.length
          if (takenBytes < TAKEN_STEP_BYTES) return
          connection?.take(takenBytes)
          takenBytes = 0
        })
      },
    })
  }
  connect()

  const encoder = new TextEncoder()
  terminal.onData((text) => connection?.send(encoder.encode(text)))
  terminal.onBinary((text) => connection?.send(Uint8Array.from(text, (each) => each.charCodeAt(0))))
  terminal.onResize(() => connection?.resize())
  const watcher = new ResizeObserver(() => fit.fit())
  watcher.observe(place)
  return {
    reopen() {
      connection?.close()
      terminal.reset()
      connect()
    },
    readAloud(isOn) {
      terminal.options.screenReaderMode = isOn
    },
    close() {
      watcher.disconnect()
      leaveTheme()
      connection?.close()
      terminal.dispose()
    },
  }
}

/** With Ctrl and Shift, since Ctrl alone is the program's: C copies what is selected, V pastes. */
function handleKey(event: KeyboardEvent, terminal: Terminal): boolean {
  if (!event.ctrlKey || !event.shiftKey) return true
  if (event.code === 'KeyV') return false
  if (event.code !== 'KeyC') return true
  event.preventDefault()
  if (event.type === 'keydown' && terminal.hasSelection()) void copyText(terminal.getSelection())
  return false
}
