import type { Command } from 'commander'
import { printable } from './table.ts'

/**
 * A command's output: a table on a terminal, JSON otherwise. Control characters in data cannot act on the
 * terminal (threat H10).
 */
export interface Output {
  readonly result: (value: unknown, table: () => string) => void
  /** Prints one of several results over time: lines on a terminal, otherwise one line of JSON. */
  readonly line: (value: unknown, lines: () => string) => void
  /** Prints a multi-line text on a terminal, and unchanged with `--table` in a pipe. */
  readonly text: (value: unknown, content: string, paint?: Paint) => Promise<void>
  /** Prints progress of long work on standard error, on a terminal only. */
  readonly progress: (message: string) => void
  /** Prints results of long work on standard error that its progress has already shown on a terminal. */
  readonly warnings: (messages: readonly string[] | undefined) => void
}

/** Colors a text that is safe for a terminal; returns it unchanged if it cannot. */
type Paint = (content: string) => Promise<string>

/** Adds `--json` and `--table`, which select the output format, to a program and all its commands. They exclude each other. */
export function addOutputOptions(program: Command): void {
  addEverywhere(program, '--json', 'print JSON, even on a terminal')
  addEverywhere(program, '--table', 'print a table, even in a pipe')
  // Commander's conflicts() does not see options before the command.
  program.hook('preAction', (_program, command) => {
    const { json, table }: { json?: boolean; table?: boolean } = command.optsWithGlobals()
    if (json === true && table === true) command.error("error: '--json' and '--table' cannot be combined")
  })
}

/** Adds an option to a program and its existing commands, so that users can write it before or after the command. */
export function addEverywhere(command: Command, flags: string, description: string): void {
  command.option(flags, description)
  for (const child of command.commands) addEverywhere(child, flags, description)
}

/** Creates the output of a command: tables on a terminal, JSON elsewhere, unless an option selects one. */
export function createOutput(options: { readonly json?: boolean; readonly table?: boolean }): Output {
  const isTable = options.table === true || (options.json !== true && process.stdout.isTTY)
  return {
    result(value, table) {
      process.stdout.write(`${isTable ? printableLines(table()) : printableJson(value)}\n`)
    },
    line(value, lines) {
      process.stdout.write(`${isTable ? printableLines(lines()) : printableJson(value, 0)}\n`)
    },
    async text(value, content, paint) {
      if (!isTable) process.stdout.write(`${printableJson(value)}\n`)
      else process.stdout.write(process.stdout.isTTY ? await forTerminal(content, paint) : content)
    },
    progress(message) {
      if (process.stderr.isTTY) process.stderr.write(`${printable(message)}\n`)
    },
    warnings(messages = []) {
      if (process.stderr.isTTY) return
      for (const message of messages) process.stderr.write(`warning: ${printable(message)}\n`)
    },
  }
}

async function forTerminal(content: string, paint: Paint | undefined): Promise<string> {
  const shown = printableText(content)
  const isColoured = paint !== undefined && (process.env['NO_COLOR'] ?? '') === ''
  return ended(isColoured ? await paint(shown) : shown)
}

function ended(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`
}

/** Replaces control characters except tabs and line breaks. */
function printableText(text: string): string {
  return text
    .split('\n')
    .map((line) => line.replace(/\r$/, '').split('\t').map(printable).join('\t'))
    .join('\n')
}

function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n')
}

/** Escapes the control characters that JSON itself does not: those above U+0020. */
function printableJson(value: unknown, indent = 2): string {
  return JSON.stringify(value, null, indent).replace(
    /[\u007f-\u009f]/g,
    (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
