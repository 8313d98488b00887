import type { Command } from 'commander'
import { addConfigShow } from '../../../../lib/cli/config-show.ts'
import { counted } from '../../../../lib/cli/counted.ts'
import { examples } from '../../../../lib/cli/examples.ts'
import { createOutput } from '../../../../lib/cli/output.ts'
import type { GlobalOptions } from '../client.ts'

/** Adds `config check` and `config show`. */
export function addConfig(program: Command): void {
  const config = program.command('config').description('validate or print the configuration')
  config
    .command('check')
    .description('validate the configuration')
    .addHelpText('after', examples('supervisor config check -c supervisor.yaml'))
    .action(async (_options: unknown, command: Command) => {
      const options: GlobalOptions = command.optsWithGlobals()
      const { loadSupervisorConfig } = await import('../../../config.ts')
      const { unsetVariables } = await import('../../../config-file/unset-variables.ts')
      const loaded = loadSupervisorConfig(process.env, { file: options.config })
      const { file, config: read } = loaded
      const warnings = [...loaded.warnings, ...unsetVariables(read.processes, process.env)]
      for (const warning of warnings) process.stderr.write(`supervisor: ${warning}\n`)
      const count = read.processes.length
      createOutput(options).result(
        { ok: true, file: file ?? null, processes: count, warnings },
        () => `${file ?? 'the default configuration'} is valid, ${counted(count, 'process', 'processes')}`,
      )
    })
  addConfigShow(config, async (file) => {
    const { loadSupervisorConfig } = await import('../../../config.ts')
    const { supervisorSchema } = await import('../../../config-schema.ts')
    return { schema: supervisorSchema, settings: loadSupervisorConfig(process.env, { file }).settings }
  })
}
