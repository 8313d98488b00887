import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { examples } from '../../../../lib/cli/examples.ts'
import { createOutput } from '../../../../lib/cli/output.ts'
import { defineFaults } from '../../../../lib/errors/fault.ts'
import { writeFileDurable } from '../../../../lib/fs/write-durable.ts'
import type { GlobalOptions } from '../client.ts'

const initFault = defineFaults({ CONFIG_EXISTS: 'conflict' })

/** Adds `init`, which writes a first configuration. */
export function addInit(program: Command): void {
  program
    .command('init')
    .description('write a supervisor.yaml from a Procfile or the scripts of package.json')
    .option('-f, --force', 'replace an existing file')
    .addHelpText('after', examples('supervisor init && supervisor up'))
    .action(async (options: { readonly force?: boolean }, command: Command) => {
      const { proposeConfig } = await import('../../../config-file/propose-config.ts')
      const file = join(process.cwd(), 'supervisor.yaml')
      const { text, processes } = proposeConfig(process.cwd(), process.env)
      try {
        // Neither mode follows an existing link, which could point to any file of the user.
        if (options.force === true) await writeFileDurable(file, text)
        else writeFileSync(file, text, { flag: 'wx' })
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
        throw initFault('CONFIG_EXISTS', `${file} already exists; --force replaces it`)
      }
      createOutput(command.optsWithGlobals<GlobalOptions>()).result(
        { file, processes },
        () => `wrote ${file} with ${processes.join(', ')}; start them with "supervisor up"`,
      )
    })
}
