import type { Command } from 'commander'
import { addConfigShow } from '../../../../lib/cli/config-show.ts'
import { examples } from '../../../../lib/cli/examples.ts'
import { createOutput } from '../../../../lib/cli/output.ts'

interface ConfigOptions {
  readonly config?: string
  readonly json?: boolean
  readonly table?: boolean
}

/** Adds the commands `config check` and `config show`. */
export function addConfig(program: Command): void {
  const config = program.command('config').description("check or show the server's configuration")
  config
    .command('check')
    .addHelpText('after', examples('workspace config check --config config.yaml'))
    .description('validate the configuration; exits with status 1 if it is invalid')
    .option('--config <file>', 'config file')
    .action(async (_options: unknown, command: Command) => {
      const options: ConfigOptions = command.optsWithGlobals()
      const { loadWorkspaceConfig } = await import('../../../config.ts')
      const { file } = loadWorkspaceConfig(process.env, { file: options.config })
      createOutput(options).result({ ok: true, file: file ?? null }, () =>
        file === undefined ? 'no config file; the defaults are valid' : `${file} is valid`,
      )
    })
  addConfigShow(config, async (file) => {
    const { loadWorkspaceConfig, workspaceSchema } = await import('../../../config.ts')
    return { schema: workspaceSchema, settings: loadWorkspaceConfig(process.env, { file }).settings }
  }).option('--config <file>', 'config file')
}
