import type { Command } from 'commander'
import { addConfigShow } from '../../../../lib/cli/config-show.ts'
import { createOutput } from '../../../../lib/cli/output.ts'

interface ConfigOptions {
  readonly config?: string
  readonly json?: boolean
  readonly table?: boolean
}

/** config check, config show. */
export function addConfig(program: Command): void {
  const config = program.command('config').description("check or show the server's configuration")
  config
    .command('check')
    .description('say whether the configuration is right; exits 1 with what is wrong')
    .option('--config <file>', 'config file')
    .action(async (_options: unknown, command: Command) => {
      const options: ConfigOptions = command.optsWithGlobals()
      const { loadWorkspaceConfig } = await import('../../../config.ts')
      const { file } = loadWorkspaceConfig(process.env, { file: options.config })
      createOutput(options).result(
        { ok: true, file: file ?? null },
        () => `${file ?? 'no file, defaults'}: right`,
      )
    })
  addConfigShow(config, async (file) => {
    const { loadWorkspaceConfig, workspaceSchema } = await import('../../../config.ts')
    return { schema: workspaceSchema, settings: loadWorkspaceConfig(process.env, { file }).settings }
  }).option('--config <file>', 'config file')
}
