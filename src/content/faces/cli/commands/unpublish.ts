import type { Command } from 'commander'
import { counted } from '../../../../lib/cli/counted.ts'
import { examples } from '../../../../lib/cli/examples.ts'
import { createOutput } from '../../../../lib/cli/output.ts'
import type { GlobalOptions } from '../global-options.ts'

interface UnpublishOptions extends GlobalOptions {
  readonly version?: string
}

/** Adds the command unpublish. */
export function addUnpublish(program: Command): void {
  program
    .command('unpublish')
    .description('remove a published repository, or a version of one, from the store')
    .argument('<repo>', 'name of the repository on the site')
    .option('--version <version>', 'only this version')
    .addHelpText('after', examples('content-server unpublish guide --version 1.0'))
    .action(async (repo: string, own: UnpublishOptions, command: Command) => {
      // Overrides the program's own --version.
      const options: UnpublishOptions = { ...command.optsWithGlobals<UnpublishOptions>(), ...own }
      const [{ loadContentConfig }, { openStore }, { unpublish }] = await Promise.all([
        import('../../../config.ts'),
        import('../../../store/open-store.ts'),
        import('../../../publish/unpublish.ts'),
      ])
      const { config } = loadContentConfig(process.env, { file: options.config })
      const store = await openStore(config.store)
      try {
        const result = await unpublish({ repo, version: own.version }, store)
        for (const key of result.kept)
          process.stderr.write(
            `content-server: ${JSON.stringify(key)} was not published by this program and is kept\n`,
          )
        for (const alias of result.removedAliases)
          process.stderr.write(`content-server: the alias ${JSON.stringify(alias)} is deleted too\n`)
        createOutput(options).result(
          { ...result, version: result.version ?? null },
          () =>
            `${repo}${result.version === undefined ? '' : ` ${result.version}`} is no longer published: ${counted(result.deleted, 'object')} deleted; running servers may serve it until cache.ttl expires or their cache is purged`,
        )
      } finally {
        store.close()
      }
    })
}
