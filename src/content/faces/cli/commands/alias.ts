import type { Command } from 'commander'
import { examples } from '../../../../lib/cli/examples.ts'
import { createOutput } from '../../../../lib/cli/output.ts'
import type { GlobalOptions } from '../global-options.ts'

interface AliasOptions extends GlobalOptions {
  readonly version?: string
  readonly remove?: boolean
}

/** Adds the command alias. */
export function addAlias(program: Command): void {
  program
    .command('alias')
    .description('set or remove an alias of a published version')
    .argument('<repo>', 'name of the repository on the site')
    .argument('<name>', 'alias, such as stable')
    .option('--version <version>', 'version that the alias resolves to')
    .option('--remove', 'remove the alias')
    .addHelpText('after', examples('content-server alias guide stable --version 2.0'))
    .action(async (repo: string, alias: string, own: AliasOptions, command: Command) => {
      // Overrides the program's own --version.
      const options: AliasOptions = { ...command.optsWithGlobals<AliasOptions>(), ...own }
      const { version, remove: isRemoved = false } = own
      if ((version === undefined) !== isRemoved) command.error('error: give either --version or --remove')
      const [{ loadContentConfig }, { openStore }, { setAlias }] = await Promise.all([
        import('../../../config.ts'),
        import('../../../store/open-store.ts'),
        import('../../../publish/alias.ts'),
      ])
      const { config } = loadContentConfig(process.env, { file: options.config })
      const store = await openStore(config.store)
      try {
        await setAlias({ repo, alias, version }, store)
        createOutput(options).result({ repo, alias, version: version ?? null }, () =>
          version === undefined
            ? `${repo} ${alias} is removed`
            : `${repo} ${alias} is version ${version}; running servers notice within cache.ttl`,
        )
      } finally {
        store.close()
      }
    })
}
