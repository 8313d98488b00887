import type { Command } from 'commander'
import { contextOf } from '../client.ts'
import { runScreen } from '../top/screen.ts'

/** A view of everything that fills the terminal. */
export function addTop(program: Command): void {
  program
    .command('top')
    .description('show processes and their lines as they change; keys start, stop and restart them')
    .action(async (_options: unknown, command: Command) => {
      const { client } = await contextOf(command)
      if (!process.stdin.isTTY || !process.stdout.isTTY)
        throw new Error('top needs a terminal; "supervisor ps" and "supervisor logs -f" do without')
      await runScreen(client)
    })
}
