import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { createOutput } from '../../../../lib/cli/output.ts'
import { defineFaults } from '../../../../lib/errors/fault.ts'
import { writeFileDurable } from '../../../../lib/fs/write-durable.ts'
import type { GlobalOptions } from '../client.ts'

const initFault = defineFaults({ CONFIG_EXISTS: 'conflict' })

/** Writes a first config. */
export function addInit(program: Command): void {
  program
    .command('init')
    .description('write a supervisor.yaml from what is here: a Procfile, or the scripts of package.json')
    .option('-f, --force', 'replace the file that is there')
    .action(async (options: { readonly force?: boolean }, command: Command) => {
      const { proposeConfig } = await import('../../../config-file/propose-config.ts')
      const file = join(process.cwd(), 'supervisor.yaml')
      const { text, processes } = proposeConfig(process.cwd())
      try {
        // Neither way follows a link that lies there: it could lead to any file of the user's.
        if (options.force === true) await writeFileDurable(file, text)
        else writeFileSync(file, text, { flag: 'wx' })
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
        throw initFault('CONFIG_EXISTS', `${file} is there already; --force replaces it`)
      }
      createOutput(command.optsWithGlobals<GlobalOptions>()).result(
        { file, processes },
        () => `${file} is written, with ${processes.join(', ')}; "supervisor up" starts them`,
      )
    })
}
