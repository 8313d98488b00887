import type { Command } from 'commander'
import { addConfigShow } from '../../../../lib/cli/config-show.ts'
import { counted } from '../../../../lib/cli/counted.ts'
import { createOutput } from '../../../../lib/cli/output.ts'
import type { GlobalOptions } from '../client.ts'

/** config check, config show. */
export function addConfig(program: Command): void {
  const config = program.command('config').description('check or show the configuration')
  config
    .command('check')
    .description('say whether the configuration is right; exits 1 with what is wrong')
    .action(async (_options: unknown, command: Command) => {
      const options: GlobalOptions = command.optsWithGlobals()
      const { loadSupervisorConfig } = await import('../../../config.ts')
      const { file, warnings, config: read } = loadSupervisorConfig(process.env, { file: options.config })
      for (const warning of warnings) process.stderr.write(`supervisor: ${warning}\n`)
      const count = read.processes.length
      createOutput(options).result(
        { ok: true, file: file ?? null, processes: count, warnings },
        () => `${file ?? 'no file, defaults'}: right, ${counted(count, 'process', 'processes')}`,
      )
    })
  addConfigShow(config, async (file) => {
    const { loadSupervisorConfig } = await import('../../../config.ts')
    const { supervisorSchema } = await import('../../../config-schema.ts')
    return { schema: supervisorSchema, settings: loadSupervisorConfig(process.env, { file }).settings }
  })
}
