import type { Command } from 'commander'
import { counted } from '../../../../lib/cli/counted.ts'
import { examples } from '../../../../lib/cli/examples.ts'
import { createOutput } from '../../../../lib/cli/output.ts'
import type { GlobalOptions } from '../global-options.ts'

/** Adds the command revoke. */
export function addRevoke(program: Command): void {
  program
    .command('revoke')
    .description('end all sessions of a user; works while servers are running')
    .argument('<user>', "name of the user; '' if users have no names")
    .addHelpText('after', examples('content-server revoke alice -c docs.yaml'))
    .action(async (user: string, _options: unknown, command: Command) => {
      const options: GlobalOptions = command.optsWithGlobals()
      const [{ loadContentConfig }, { openSessionStore }, { systemClock }] = await Promise.all([
        import('../../../config.ts'),
        import('../../../session/open-session-store.ts'),
        import('../../../../lib/clock/clock.ts'),
      ])
      const { config } = loadContentConfig(process.env, { file: options.config })
      const store = await openSessionStore(config.session.location, systemClock)
      try {
        const ended = await store.removeUser(user)
        createOutput(options).result(
          { user, ended },
          () => `${counted(ended, 'session')} of ${user === '' ? 'all readers' : user} ended`,
        )
      } finally {
        await store.close()
      }
    })
}
