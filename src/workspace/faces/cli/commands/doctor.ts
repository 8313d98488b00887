import type { Command } from 'commander'
import { examples } from '../../../../lib/cli/examples.ts'
import { createOutput } from '../../../../lib/cli/output.ts'
import { ExitStatus } from '../../../../lib/cli/run.ts'
import { formatTable } from '../../../../lib/cli/table.ts'

/** Adds the command `doctor`, which checks the machine's prerequisites and exits with status 1 if any is missing. */
export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .addHelpText('after', examples('workspace doctor'))
    .description("check that this machine meets the server's requirements")
    .option('--config <file>', 'config file')
    .action(async (_options: unknown, command: Command) => {
      const options: { config?: string; json?: boolean; table?: boolean } = command.optsWithGlobals()
      const [{ loadWorkspaceConfig }, { runChecks }] = await Promise.all([
        import('../../../config.ts'),
        import('../../../assembly/run-checks.ts'),
      ])
      const checks = await runChecks(loadWorkspaceConfig(process.env, { file: options.config }).config)
      const rows = checks.map((check) => [check.ok ? 'ok' : 'MISSING', check.name, check.found, check.remedy])
      createOutput(options).result({ checks }, () => formatTable(['', 'CHECK', 'FOUND', 'REMEDY'], rows))
      if (checks.some((check) => !check.ok)) throw new ExitStatus(1)
    })
}
