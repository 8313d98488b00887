import type { Command } from 'commander'
import { examples } from '../../../../lib/cli/examples.ts'
import { contextOf } from '../client.ts'

/** Adds `top`, a live full-screen view. */
export function addTop(program: Command): void {
  program
    .command('top')
    .description('show processes, their output and requests live; ? lists the keys')
    .addHelpText('after', examples('supervisor top'))
    .action(async (_options: unknown, command: Command) => {
      const connect = async () => (await contextOf(command)).client
      if (!process.stdin.isTTY || !process.stdout.isTTY) {
        await connect()
        throw new Error('top requires a terminal; use "supervisor ps" and "supervisor logs -f" instead')
      }
      const { runTop } = await import('../top/run.ts')
      await runTop(connect)
    })
}
