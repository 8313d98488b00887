import { closeSync } from 'node:fs'
import type { Terminal } from '@xterm/headless'
import { ExitWatch, reapChild, startOnTerminal } from '../../../src/native/programs/programs.ts'
import { openPty } from '../../../src/native/programs/pty.ts'
import { waitFor } from '../wait-for.ts'
import { openEmulator, screenOf } from './emulator.ts'

/** A size in characters. */
export interface TerminalSize {
  readonly columns: number
  readonly rows: number
}

/** A program on a terminal whose output an emulator interprets. */
export interface TerminalProgram {
  readonly pid: number
  readonly terminal: Terminal
  /** Returns all output so far, with control sequences. */
  readonly output: () => string
  /** Waits until the output contains a text. */
  readonly until: (text: string) => Promise<void>
  /** Returns the rows of the screen. */
  readonly screen: () => readonly string[]
  /** Waits until the screen shows a text or matches a pattern, and returns its rows. */
  readonly untilShown: (wanted: string | RegExp) => Promise<readonly string[]>
  readonly type: (text: string) => void
  readonly resize: (columns: number, rows: number) => void
  /** Resolves with the exit status. */
  readonly ended: Promise<number | undefined>
  readonly close: () => void
}

/** Starts a program on a terminal of this size. */
export function startTerminalProgram(
  argv: readonly string[],
  { columns, rows }: TerminalSize,
  { directory, environment }: { readonly directory: string; readonly environment: Record<string, string> },
): TerminalProgram {
  const pty = openPty(columns, rows)
  const terminal = openEmulator({ columns, rows })
  let output = ''
  pty.stream
    .on('data', (bytes: Buffer) => {
      output += bytes.toString()
      terminal.write(bytes)
    })
    .on('error', () => undefined)
  const pid = startOnTerminal({ argv: [...argv], environment, directory, limits: [], terminal: pty.far })
  closeSync(pty.far)
  const watch = new ExitWatch()
  const ended = new Promise<number | undefined>((resolve) =>
    watch.add(pid, ({ code }) => {
      reapChild(pid)
      resolve(code)
    }),
  )
  const screen = (): readonly string[] => screenOf(terminal)
  return {
    pid,
    terminal,
    output: () => output,
    until: (text) => waitFor(`"${text}" in ${JSON.stringify(output)}`, () => output.includes(text)),
    screen,
    async untilShown(wanted) {
      const isShown = (): boolean => {
        const text = screen().join('\n')
        return typeof wanted === 'string' ? text.includes(wanted) : wanted.test(text)
      }
      await waitFor(`${String(wanted)} on the screen`, isShown).catch((error: unknown) => {
        throw new Error(`the screen lacks ${String(wanted)}:\n${screen().join('\n')}`, { cause: error })
      })
      return screen()
    },
    type: (text) => void pty.stream.write(text),
    resize(newColumns, newRows) {
      terminal.resize(newColumns, newRows)
      pty.resize(newColumns, newRows)
    },
    ended,
    close() {
      pty.close()
      watch.close()
      terminal.dispose()
    },
  }
}
