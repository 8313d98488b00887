import type { Command } from 'commander'
import { addConfigShow } from '../../../../lib/cli/config-show.ts'
import { examples } from '../../../../lib/cli/examples.ts'
import { createOutput } from '../../../../lib/cli/output.ts'
import type { GlobalOptions } from '../global-options.ts'

/** Adds the commands config check and config show. */
export function addConfig(program: Command): void {
  const config = program.command('config').description('check or show the configuration')
  config
    .command('check')
    .description('check the configuration; exit 1 if it is invalid')
    .addHelpText('after', examples('content-server config check -c docs.yaml'))
    .action(async (_options: unknown, command: Command) => {
      const options: GlobalOptions = command.optsWithGlobals()
      const { loadContentConfig } = await import('../../../config.ts')
      const { file, config: read } = loadContentConfig(process.env, { file: options.config })
      createOutput(options).result(
        { ok: true, file: file ?? null, store: read.store.type, users: read.users.length },
        () => `${file ?? 'the default configuration'} is valid`,
      )
    })
  addConfigShow(config, async (file) => {
    const { loadContentConfig } = await import('../../../config.ts')
    const { contentSchema } = await import('../../../config-schema.ts')
    return { schema: contentSchema, settings: loadContentConfig(process.env, { file }).settings }
  })
}
