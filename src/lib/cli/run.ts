import { Command, CommanderError } from 'commander'
import { type Fault, isFault } from '../errors/fault.ts'
import { messageOf } from '../errors/message.ts'
import { printable } from './table.ts'

/** A program whose commands report mistakes the way all our programs do. */
export function createProgram(name: string, version: string, description: string): Command {
  return new Command(name)
    .description(description)
    .version(version)
    .showSuggestionAfterError()
    .showHelpAfterError(`(${name} --help shows what there is)`)
    .enablePositionalOptions()
}

/** A command's own exit status, such as that of the program it ran. */
export class ExitStatus extends Error {
  readonly status: number

  constructor(status: number) {
    super(`exit status ${status}`)
    this.status = status
  }
}

/**
 * Runs a program to its end and returns its exit status: what the command said, 2 for bad usage, what `statusOf` says
 * for a fault, 1 for the rest. Errors are one line each on standard error.
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

/** Whoever reads the output may have had enough of it, as `head` has: no fault. A command that listens itself decides alone. */
function ignoreReaderGone(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE' && process.stdout.listenerCount('error') === 1) throw error
}

function exitByThrowing(command: Command): void {
  command.exitOverride()
  command.commands.forEach(exitByThrowing)
}
