import '@xterm/xterm/css/xterm.css'
import './terminal.css'
import { FitAddon } from '@xterm/addon-fit'
import { Terminal } from '@xterm/xterm'
import { copyText } from '../copy-text.ts'
import { allowXtermStyles } from './strict-styles.ts'
import { followTheme } from './theme.ts'

/** Size of a terminal in characters. */
interface TerminalSize {
  readonly columns: number
  readonly rows: number
}

/** A terminal on a page. */
export interface ShownTerminal {
  readonly size: () => TerminalSize
  /** Shows output; resolves when it is drawn. */
  readonly write: (output: Uint8Array | string) => Promise<void>
  /** Removes all output. */
  readonly reset: () => void
  readonly focus: () => void
  /** Turns screen reader support on or off; it is expensive when there is much output. */
  readonly readAloud: (isOn: boolean) => void
  readonly close: () => void
}

interface TerminalOptions {
  readonly label: string
  readonly isReadAloud: boolean
  readonly onInput: (bytes: Uint8Array<ArrayBuffer>) => void
  readonly onResize: () => void
}

allowXtermStyles()

/** Shows a terminal that fills an element of the page and follows its size and the page's colors. */
export function showTerminal(container: HTMLElement, options: TerminalOptions): ShownTerminal {
  const { label, isReadAloud, onInput, onResize } = options
  const terminal = new Terminal({
    fontFamily: getComputedStyle(container).fontFamily,
    fontSize: 13,
    scrollback: 5_000,
    screenReaderMode: isReadAloud,
  })
  const fit = new FitAddon()
  terminal.loadAddon(fit)
  terminal.open(container)
  terminal.textarea?.setAttribute('aria-label', label)
  const unfollowTheme = followTheme(terminal)
  fit.fit()
  terminal.attachCustomKeyEventHandler((event) => handleKey(event, terminal))
  const encoder = new TextEncoder()
  terminal.onData((text) => onInput(encoder.encode(text)))
  terminal.onBinary((text) => onInput(Uint8Array.from(text, (each) => each.charCodeAt(0))))
  terminal.onResize(onResize)
  const observer = new ResizeObserver(() => fit.fit())
  observer.observe(container)
  return {
    size: () => ({ columns: terminal.cols, rows: terminal.rows }),
    write: (output) => new Promise((resolve) => terminal.write(output, resolve)),
    reset: () => terminal.reset(),
    focus: () => terminal.focus(),
    readAloud(isOn) {
      terminal.options.screenReaderMode = isOn
    },
    close() {
      observer.disconnect()
      unfollowTheme()
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
