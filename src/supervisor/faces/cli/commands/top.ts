import type { Command } from 'commander'
import { contextOf } from '../client.ts'
import { runScreen } from '../top/screen.ts'
import { examples } from '../../../../lib/cli/examples.ts'

/** Adds `top`, a live full-screen view. */
export function addTop(program: Command): void {
  program
    .command('top')
    .description('show processes and their output live; keys start, stop and restart them')
    .addHelpText('after', examples('supervisor top'))
    .action(async (_options: unknown, command: Command) => {
      const { client } = await contextOf(command)
      if (!process.stdin.isTTY || !process.stdout.isTTY)
        throw new Error('top requires a terminal; use "supervisor ps" and "supervisor logs -f" instead')
      await runScreen(client)
    })
}
