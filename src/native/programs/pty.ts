import { closeSync } from 'node:fs'
import { Socket } from 'node:net'
import { getAddon } from '../load.ts'

/** A terminal for a program. */
export interface Pty {
  /** What the program prints, and what is typed for it; it ends when no program has the terminal open any more. */
  readonly stream: Socket
  /** The program's end, for its standard streams; the caller closes it when the program has it. */
  readonly far: number
  readonly resize: (columns: number, rows: number) => void
  /** Takes the terminal away from its programs, which get SIGHUP. */
  readonly close: () => void
}

/**
 * Makes a terminal. Source: pty(7), the near end joined with a Unix socket by the addon, as Node would read it in a thread.
 *
 * @throws Error with code, errno and syscall, as from node:fs: EMFILE, ENOSPC when there are too many terminals
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
