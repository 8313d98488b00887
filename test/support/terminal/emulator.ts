import { createRequire } from 'node:module'
import type * as Headless from '@xterm/headless'

// CommonJS modules whose names an import cannot find.
const require = createRequire(import.meta.url)
const { Terminal } = require('@xterm/headless') as typeof Headless
// Its types would declare a browser's for all files.
const { Unicode11Addon } = require('@xterm/addon-unicode11') as {
  readonly Unicode11Addon: new () => Headless.ITerminalAddon
}

/** Creates a terminal emulator without a window, with the character widths of current terminals. */
export function openEmulator({
  columns,
  rows,
}: {
  readonly columns: number
  readonly rows: number
}): Headless.Terminal {
  const terminal = new Terminal({ cols: columns, rows, allowProposedApi: true })
  terminal.loadAddon(new Unicode11Addon())
  terminal.unicode.activeVersion = '11'
  return terminal
}

/** Returns the rows that a terminal shows, with all its columns. */
export function screenOf(terminal: Headless.Terminal): readonly string[] {
  const { active } = terminal.buffer
  return Array.from({ length: terminal.rows }, (_, at) =>
    (active.getLine(active.viewportY + at)?.translateToString(false) ?? '').trimEnd(),
  )
}
