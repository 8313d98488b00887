import type { Command } from 'commander'
import { addServerOption, contextOf } from '../context.ts'
import { sshInto } from '../ssh-client.ts'
import { tmuxCommand } from '../tmux-command.ts'

interface Options {
  readonly session?: string
  readonly forward: boolean
}

/** Runs OpenSSH's client with the server's host key pinned. */
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
      if (session !== undefined) {
        await sshInto(context, name, tmuxCommand(session), { options: ['-t'], forwards: forward })
      } else await sshInto(context, name, words, { forwards: forward && words.length === 0 })
    })
}
