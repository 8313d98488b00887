import type { Command } from 'commander'

/** Appends examples, each a complete command line, to a command's help. */
export function addExamples(command: Command, ...lines: readonly string[]): Command {
  const heading = lines.length === 1 ? 'Example:' : 'Examples:'
  return command.addHelpText('after', `\n${heading}\n${lines.map((line) => `  ${line}`).join('\n')}`)
}
