import type { Command } from 'commander'
import { printable } from './table.ts'

/**
 * Where a command's result goes: a table for a person at a terminal, JSON for everything else. Nothing in it can act on
 * that terminal (threat H10).
 */
export interface Output {
  readonly result: (value: unknown, table: () => string) => void
  /** One of many results that come over time: lines for a person, one line of JSON for everything else. */
  readonly line: (value: unknown, lines: () => string) => void
  /** A text of many lines: the text itself for a person, exactly as it is where it is piped. */
  readonly text: (value: unknown, content: string, paint?: Paint) => Promise<void>
  /** Passing news of long work; only a person at a terminal sees it. */
  readonly progress: (message: string) => void
}

/** Colours a text that a terminal can show; a text that stays as it is when it cannot. */
type Paint = (content: string) => Promise<string>

/** Adds to a program and all its commands the two options by which a user overrides the terminal rule; both are bad usage. */
export function addOutputOptions(program: Command): void {
  addEverywhere(program, '--json', 'print JSON, also on a terminal')
  addEverywhere(program, '--table', 'print a table, also when piped')
  // Not by commander's conflicts(), which sees no option that stands before the command.
  program.hook('preAction', (_program, command) => {
    const { json, table }: { json?: boolean; table?: boolean } = command.optsWithGlobals()
    if (json === true && table === true) command.error("error: '--json' and '--table' exclude each other")
  })
}

/** Adds an option to a program and all the commands that it has by then: users write it before or after the command. */
export function addEverywhere(command: Command, flags: string, description: string): void {
  command.option(flags, description)
  for (const child of command.commands) addEverywhere(child, flags, description)
}

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

/** Tabs, which a terminal shows, stay. */
function printableText(text: string): string {
  return text
    .split('\n')
    .map((line) => line.replace(/\r$/, '').split('\t').map(printable).join('\t'))
    .join('\n')
}

function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n')
}

/** JSON escapes the control characters below U+0020 itself, and none of those above. */
function printableJson(value: unknown, indent = 2): string {
  return JSON.stringify(value, null, indent).replace(
    /[\u007f-\u009f]/g,
    (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
