import { showTerminal } from '../../../../../lib/page/terminal/show-terminal.ts'
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

/** Opens a terminal in an element of the page, connected to a program in a workspace. */
export function openTerminal(
  container: HTMLElement,
  { name, session, isReadAloud, onState }: TerminalOptions,
): OpenTerminal {
  let connection: TerminalConnection | undefined
  const terminal = showTerminal(container, {
    label: name,
    isReadAloud,
    onInput: (bytes) => connection?.send(bytes),
    onResize: () => connection?.resize(),
  })
  const connect = (): void => {
    let drawnBytes = 0
    const draw = async (bytes: Uint8Array): Promise<void> => {
      await terminal.write(bytes)
      // Acknowledged when drawn, not when received, so that the server sends no faster than this page draws.
      drawnBytes += bytes.length
      if (drawnBytes < ACKNOWLEDGE_STEP_BYTES) return
      connection?.acknowledge(drawnBytes)
      drawnBytes = 0
    }
    connection = connectTerminal({
      name,
      session,
      size: terminal.size,
      onState(state) {
        onState(state)
        if (state.is === 'open') terminal.focus()
      },
      onOutput: (bytes) => void draw(bytes),
    })
  }
  connect()
  return {
    reopen() {
      connection?.close()
      terminal.reset()
      connect()
    },
    readAloud: terminal.readAloud,
    close() {
      connection?.close()
      terminal.close()
    },
  }
}
