import { Command, CommanderError } from 'commander'
import { type Fault, isFault } from '../errors/fault.ts'
import { messageOf } from '../errors/message.ts'
import { printable } from './table.ts'

/** Creates a program with the error reporting shared by all programs. */
export function createProgram(name: string, version: string, description: string): Command {
  return new Command(name)
    .description(description)
    .version(version)
    .showSuggestionAfterError()
    .showHelpAfterError(`(${name} --help lists commands and options)`)
    .enablePositionalOptions()
}

/** Thrown to exit with a specific status, such as that of a program the command ran. */
export class ExitStatus extends Error {
  readonly status: number

  constructor(status: number) {
    super(`exit status ${status}`)
    this.status = status
  }
}

/**
 * Runs a program and returns its exit status: an `ExitStatus`, 2 for bad usage, `statusOf(fault)` for a `Fault`, 1
 * for anything else. Errors are one line each on standard error.
 */
export async function runProgram(
  program: Command,
  argv: readonly string[],
  statusOf: (fault: Fault) => number,
): Promise<number> {
  exitByThrowing(program)
  process.stdout.on('error', ignoreReaderGone)
  try {
    await program.parseAsync(argv, { from: 'user' })
    return 0
  } catch (error) {
    if (error instanceof ExitStatus) return error.status
    // Commander has printed its own message.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    const lines = messageOf(error).split('\n').map(printable)
    process.stderr.write(lines.map((line) => `${program.name()}: ${line}\n`).join(''))
    return isFault(error) ? statusOf(error) : 1
  }
}

/** Ignores EPIPE: a reader such as `head` may close the output early. A command with its own listener handles it alone. */
function ignoreReaderGone(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE' && process.stdout.listenerCount('error') === 1) throw error
}

function exitByThrowing(command: Command): void {
  command.exitOverride()
  command.commands.forEach(exitByThrowing)
}
