import type { Command } from 'commander'
import { counted } from '../../../../lib/cli/counted.ts'
import { examples } from '../../../../lib/cli/examples.ts'
import { createOutput } from '../../../../lib/cli/output.ts'
import type { GlobalOptions } from '../global-options.ts'
import { inSessionStore } from '../in-session-store.ts'

/** Adds the command revoke. */
export function addRevoke(program: Command): void {
  program
    .command('revoke')
    .description('end all sessions of a user; works while servers are running')
    .argument('<user>', "name of the user; '' if users have no names")
    .addHelpText('after', examples('content-server revoke alice -c docs.yaml'))
    .action(async (user: string, _options: unknown, command: Command) => {
      const options: GlobalOptions = command.optsWithGlobals()
      await inSessionStore(options, async (store) => {
        const ended = await store.removeUser(user)
        createOutput(options).result(
          { user, ended },
          () => `${counted(ended, 'session')} of ${user === '' ? 'all readers' : user} ended`,
        )
      })
    })
}
