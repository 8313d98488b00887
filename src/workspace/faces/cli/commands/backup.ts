import type { Command } from 'commander'
import { examples } from '../../../../lib/cli/examples.ts'
import { createOutput } from '../../../../lib/cli/output.ts'

/** Adds the commands `backup` and `restore`, which read and write a server's state on this machine. */
export function addBackup(program: Command): void {
  program
    .command('backup')
    .description("write the server's identity, users, tokens, keys and settings to a file")
    .argument('<file>', 'archive to write; only you can read it')
    .option('--config <file>', 'config file of the server')
    .addHelpText('after', examples('workspace backup workspace-state.tar.gz'))
    .action(async (file: string, _options: unknown, command: Command) => {
      const { stateDir, backUpState } = await load(command)
      const files = await backUpState(stateDir, file)
      createOutput(command.optsWithGlobals()).result({ file, files }, () => `${files} files are in ${file}`)
    })
  program
    .command('restore')
    .description('restore a backup to a state directory without a server')
    .argument('<file>', 'archive that "workspace backup" wrote')
    .option('--config <file>', 'config file of the server')
    .addHelpText('after', examples('workspace restore workspace-state.tar.gz'))
    .action(async (file: string, _options: unknown, command: Command) => {
      const { stateDir, restoreState } = await load(command)
      const files = await restoreState(file, stateDir)
      createOutput(command.optsWithGlobals()).result(
        { state_dir: stateDir, files },
        () => `${files} files are restored to ${stateDir}; start the server`,
      )
    })
}

async function load(command: Command) {
  const { config: file }: { config?: string } = command.optsWithGlobals()
  const [{ loadWorkspaceConfig }, state] = await Promise.all([
    import('../../../config.ts'),
    import('../../../assembly/back-up-state.ts'),
  ])
  return { stateDir: loadWorkspaceConfig(process.env, { file }).config.stateDir, ...state }
}
