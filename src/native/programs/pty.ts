import { closeSync } from 'node:fs'
import { Socket } from 'node:net'
import { getAddon } from '../load.ts'

/** A pseudo-terminal. */
export interface Pty {
  /** Output of the program, and its input; ends when no program has the terminal open. */
  readonly stream: Socket
  /** The program's end, for its standard streams; the caller closes it after starting the program. */
  readonly far: number
  readonly resize: (columns: number, rows: number) => void
  /** Closes the terminal; its programs get SIGHUP. */
  readonly close: () => void
}

/**
 * Opens a pseudo-terminal. Source: pty(7). The addon connects the near end to a Unix socket, because Node.js
 * would read it on a thread.
 *
 * @throws Error with code, errno and syscall, as from node:fs: EMFILE, ENOSPC when there are too many
 * terminals
 */
export function openPty(columns: number, rows: number): Pty {
  const addon = getAddon('a terminal')
  const [fd, control, far] = addon.openPty(columns, rows)
  const stream = new Socket({ fd, readable: true, writable: true, allowHalfOpen: true })
  let isOpen = true
  return {
    stream,
    far,
    resize: (newColumns, newRows) => (isOpen ? addon.resizePty(control, newColumns, newRows) : undefined),
    close() {
      stream.destroy()
      if (isOpen) closeSync(control)
      isOpen = false
    },
  }
}
