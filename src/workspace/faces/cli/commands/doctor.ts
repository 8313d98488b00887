import { spawnSync } from 'node:child_process'
import type { Command } from 'commander'
import { examples } from '../../../../lib/cli/examples.ts'
import { createOutput } from '../../../../lib/cli/output.ts'
import { ExitStatus } from '../../../../lib/cli/run.ts'
import { formatTable, printable } from '../../../../lib/cli/table.ts'
import type { Check } from '../../../check.ts'

/**
 * Adds the command `doctor`, which checks the machine's prerequisites and what a running server reports, can repair some, and exits
 * with 1 if any is missing or failing.
 */
export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .addHelpText('after', examples('workspace doctor', 'workspace doctor --fix'))
    .description("check that this machine meets the server's requirements")
    .option('--config <file>', 'config file')
    .option('--fix', 'install or build what is missing, where that needs no decision; on Debian and Ubuntu')
    .action(async (_options: unknown, command: Command) => {
      const options: { config?: string; fix?: boolean; json?: boolean; table?: boolean } =
        command.optsWithGlobals()
      const [{ loadWorkspaceConfig }, { runChecks }, { isRepairable, repair }, { serverChecks }] =
        await Promise.all([
          import('../../../config.ts'),
          import('../../../assembly/run-checks.ts'),
          import('../../../assembly/repair.ts'),
          import('../server-checks.ts'),
        ])
      const { config } = loadWorkspaceConfig(process.env, { file: options.config })
      const checks = [...(await runChecks(config)), ...(await serverChecks(config.stateDir))]
      const isFixable = checks.some(isRepairable)
      if (options.fix === true && isFixable) {
        for (const { command: line, error } of await repair(checks, (each) => report(`${each} …`)))
          if (error !== undefined) report(`${line}: ${error}`)
        // Another process finds what a server would find; this one has loaded some of it already.
        const argv = [...process.execArgv, ...process.argv.slice(1).filter((word) => word !== '--fix')]
        throw new ExitStatus(spawnSync(process.execPath, argv, { stdio: 'inherit' }).status ?? 1)
      }
      const rows = checks.map((check) => [statusOf(check), check.name, check.found, check.remedy])
      const hint = isFixable ? '\n\nto repair what needs no decision: workspace doctor --fix' : ''
      createOutput(options).result(
        { checks },
        () => formatTable(['', 'CHECK', 'FOUND', 'REMEDY'], rows) + hint,
      )
      if (checks.some((check) => !check.ok)) throw new ExitStatus(1)
    })
}

function statusOf({ ok, isTrouble }: Check): string {
  return ok ? 'ok' : isTrouble === true ? 'FAILING' : 'MISSING'
}

function report(text: string): void {
  for (const line of text.split('\n')) process.stderr.write(`${printable(line)}\n`)
}
