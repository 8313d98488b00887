import type { Command } from 'commander'
import { createOutput } from '../../../../lib/cli/output.ts'
import { ExitStatus } from '../../../../lib/cli/run.ts'
import { formatTable } from '../../../../lib/cli/table.ts'

/** Says what this machine has and lacks; exits 1 when something is lacking. */
export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description('check what the server needs on this machine')
    .option('--config <file>', 'config file')
    .action(async (_options: unknown, command: Command) => {
      const options: { config?: string; json?: boolean; table?: boolean } = command.optsWithGlobals()
      const [{ loadWorkspaceConfig }, { runChecks }] = await Promise.all([
        import('../../../config.ts'),
        import('../../../assembly/run-checks.ts'),
      ])
      const checks = await runChecks(loadWorkspaceConfig(process.env, { file: options.config }).config)
      const rows = checks.map((check) => [check.ok ? 'ok' : 'MISSING', check.name, check.found, check.remedy])
      createOutput(options).result({ checks }, () => formatTable(['', 'WHAT', 'FOUND', 'REMEDY'], rows))
      if (checks.some((check) => !check.ok)) throw new ExitStatus(1)
    })
}
