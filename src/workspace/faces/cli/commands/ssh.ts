import type { Command } from 'commander'
import { addServerOption, contextOf } from '../context.ts'
import { shellQuote } from '../../../../lib/process/shell-quote.ts'
import { sshInto } from '../ssh-client.ts'
import { tmuxCommand } from '../tmux-command.ts'
import { examples } from '../../../../lib/cli/examples.ts'

interface Options {
  readonly session?: string
  readonly forward: boolean
}

/** Adds the commands `ssh` and `exec`, which run OpenSSH's client with the server's host key pinned. */
export function addSsh(program: Command): void {
  addServerOption(program.command('ssh'))
    .description('open a shell or run a command in a workspace')
    .argument('<name>', 'workspace')
    .argument('[command...]', 'command to run instead of a shell')
    .option('--session <session>', 'attach to this tmux session, creating it if it does not exist')
    .option('--no-forward', 'do not forward the ports listed in its devcontainer.json')
    .passThroughOptions()
    .addHelpText(
      'after',
      examples('workspace ssh demo', 'workspace ssh demo git status', 'workspace ssh --session main demo'),
    )
    .action(async (name: string, args: string[], { session, forward }: Options, command: Command) => {
      const context = await contextOf(command)
      const remote = withoutSeparator(args)
      if (session !== undefined) {
        await sshInto(context, name, tmuxCommand(session), { options: ['-t'], forwards: forward })
      } else await sshInto(context, name, remote, { forwards: forward && remote.length === 0 })
    })
  addServerOption(program.command('exec'))
    .description('run a program with exactly these arguments in a workspace')
    .argument('<name>', 'workspace')
    .argument('<program...>', 'program and its arguments, passed without shell interpretation')
    .passThroughOptions()
    .addHelpText(
      'after',
      examples('workspace exec demo ls -l', 'workspace exec demo -- grep -r "two words" .'),
    )
    .action(async (name: string, args: string[], _options: unknown, command: Command) => {
      await sshInto(await contextOf(command), name, withoutSeparator(args).map(shellQuote))
    })
}

/** Removes a leading `--`, which ends our own options as with ssh. */
export function withoutSeparator([first, ...rest]: readonly string[]): readonly string[] {
  if (first === undefined || first === '--') return rest
  return [first, ...rest]
}
