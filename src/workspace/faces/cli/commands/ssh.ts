import type { Command } from 'commander'
import { addServerOption, contextOf } from '../context.ts'
import { sshInto } from '../ssh-client.ts'
import { tmuxCommand } from '../tmux-command.ts'

interface Options {
  readonly session?: string
  readonly forward: boolean
}

/** ssh, exec: run OpenSSH's client with the server's host key pinned. */
export function addSsh(program: Command): void {
  addServerOption(program.command('ssh'))
    .description('open a shell in a workspace, or run a command there')
    .argument('<name>', 'workspace')
    .argument('[command...]', 'command to run instead of a shell')
    .option('--session <session>', 'open this tmux session, making it if it is not there')
    .option('--no-forward', 'leave the ports that its devcontainer.json names unforwarded')
    .passThroughOptions()
    .addHelpText(
      'after',
      '\nExamples:\n  workspace ssh demo\n  workspace ssh demo git status\n  workspace ssh --session main demo',
    )
    .action(async (name: string, words: string[], { session, forward }: Options, command: Command) => {
      const context = await contextOf(command)
      const line = withoutSeparator(words)
      if (session !== undefined) {
        await sshInto(context, name, tmuxCommand(session), { options: ['-t'], forwards: forward })
      } else await sshInto(context, name, line, { forwards: forward && line.length === 0 })
    })
  addServerOption(program.command('exec'))
    .description('run a program in a workspace with exactly these arguments')
    .argument('<name>', 'workspace')
    .argument('<program...>', 'program and its arguments, which no shell takes apart')
    .passThroughOptions()
    .addHelpText(
      'after',
      '\nExamples:\n  workspace exec demo ls -l\n  workspace exec demo -- grep -r "two words" .',
    )
    .action(async (name: string, words: string[], _options: unknown, command: Command) => {
      await sshInto(await contextOf(command), name, withoutSeparator(words).map(quoted))
    })
}

/** A `--` ends our own options, as with ssh. */
function withoutSeparator([first, ...words]: readonly string[]): readonly string[] {
  if (first === undefined || first === '--') return words
  return [first, ...words]
}

/** A word that the user's shell inside takes as it is. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`
}
