import '@xterm/xterm/css/xterm.css'
import { FitAddon } from '@xterm/addon-fit'
import { Terminal } from '@xterm/xterm'
import { copyText } from '../parts/copy-line.tsx'
import { allowXtermStyles } from './strict-styles.ts'
import { followTheme } from './theme.ts'
import { connectTerminal, type TerminalConnection, type TerminalState } from './terminal-connection.ts'

/** A terminal on the page. */
export interface OpenTerminal {
  /** Reconnects after the terminal has ended or failed. */
  readonly reopen: () => void
  /** Turns screen reader support on or off; it is expensive when there is much output. */
  readonly readAloud: (isOn: boolean) => void
  readonly close: () => void
}

interface TerminalOptions {
  readonly name: string
  readonly session: string | undefined
  readonly isReadAloud: boolean
  readonly onState: (state: TerminalState) => void
}

/** Output is acknowledged in steps of this size, to send few messages. */
const ACKNOWLEDGE_STEP_BYTES = 128 * 1024

allowXtermStyles()

/** Opens a terminal in an element of the page, connected to a program in a workspace. */
export function openTerminal(
  container: HTMLElement,
  { name, session, isReadAloud, onState }: TerminalOptions,
): OpenTerminal {
  const terminal = new Terminal({
    fontFamily: getComputedStyle(container).fontFamily,
    fontSize: 13,
    scrollback: 5_000,
    screenReaderMode: isReadAloud,
  })
  const fit = new FitAddon()
  terminal.loadAddon(fit)
  terminal.open(container)
  terminal.textarea?.setAttribute('aria-label', name)
  const unfollowTheme = followTheme(terminal)
  fit.fit()
  terminal.attachCustomKeyEventHandler((event) => handleKey(event, terminal))

  let connection: TerminalConnection | undefined
  const connect = (): void => {
    let drawnBytes = 0
    connection = connectTerminal({
      name,
      session,
      size: () => ({ columns: terminal.cols, rows: terminal.rows }),
      onState(state) {
        onState(state)
        if (state.is === 'open') terminal.focus()
      },
      onOutput(bytes) {
        // Acknowledged when drawn, not when received, so that the server sends no faster than this page draws.
        terminal.write(bytes, () => {
          drawnBytes += bytes.length
          if (drawnBytes < ACKNOWLEDGE_STEP_BYTES) return
          connection?.acknowledge(drawnBytes)
          drawnBytes = 0
        })
      },
    })
  }
  connect()

  const encoder = new TextEncoder()
  terminal.onData((text) => connection?.send(encoder.encode(text)))
  terminal.onBinary((text) => connection?.send(Uint8Array.from(text, (each) => each.charCodeAt(0))))
  terminal.onResize(() => connection?.resize())
  const observer = new ResizeObserver(() => fit.fit())
  observer.observe(container)
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
      observer.disconnect()
      unfollowTheme()
      connection?.close()
      terminal.dispose()
    },
  }
}

/** Handles Ctrl+Shift+C (copy) and Ctrl+Shift+V (paste); Ctrl alone belongs to the program. */
function handleKey(event: KeyboardEvent, terminal: Terminal): boolean {
  if (!event.ctrlKey || !event.shiftKey) return true
  if (event.code === 'KeyV') return false
  if (event.code !== 'KeyC') return true
  event.preventDefault()
  if (event.type === 'keydown' && terminal.hasSelection()) void copyText(terminal.getSelection())
  return false
}
