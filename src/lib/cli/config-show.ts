import type { Command } from 'commander'
import type { SchemaNode } from '../config/check.ts'
import { examples } from './examples.ts'
import { createOutput } from './output.ts'

interface ShowOptions {
  readonly config?: string
  readonly json?: boolean
  readonly table?: boolean
}

/**
 * Adds the `show` command to a program's `config`.
 * @param read loads the settings of the given or default file, with their schema
 */
export function addConfigShow(
  config: Command,
  read: (file: string | undefined) => Promise<{ readonly schema: SchemaNode; readonly settings: unknown }>,
): Command {
  return config
    .command('show')
    .description('print the effective configuration: YAML on a terminal, JSON otherwise')
    .addHelpText('after', examples(`${config.parent?.name()} config show --json`))
    .action(async (_options: unknown, command: Command) => {
      const options: ShowOptions = command.optsWithGlobals()
      const { maskSecrets, showSettings } = await import('../config/show.ts')
      const { schema, settings } = await read(options.config)
      createOutput(options).result(maskSecrets(schema, settings), () =>
        showSettings(schema, settings).trimEnd(),
      )
    })
}
