import { type Command, InvalidArgumentError, Option } from 'commander'
import { outputOf } from '../context.ts'

interface BuildOptions {
  readonly base?: boolean
  readonly tag?: string
  readonly backend?: string
  readonly config?: string
}

/** Works on this machine, with the server's configuration: what it makes of may be large, and the base needs root. */
export function addImageBuild(image: Command): void {
  image
    .command('build')
    .description(
      'make an image that VMs boot, on this machine: of a root file system in a tar archive, or the base image',
    )
    .argument('[archive]', 'tar archive, compressed or not; - for standard input', notEmpty)
    .addOption(new Option('--base', "the base image, from Debian's packages (needs root and debootstrap)"))
    .option('--tag <tag>', 'what it is called; default from the name of the archive, or base')
    .option('--backend <backend>', 'firecracker, vz or qemu; default the first that is enabled')
    .option('--config <file>', "the server's config file")
    .addHelpText(
      'after',
      '\nExamples:\n  workspace image build --base\n  docker export demo | workspace image build - --tag demo --backend qemu',
    )
    .action(async (archive: string | undefined, options: BuildOptions, command: Command) => {
      if ((archive === undefined) === (options.base !== true))
        command.error("error: name an archive, or give '--base': one of the two")
      const output = outputOf(command)
      const [{ loadWorkspaceConfig }, { buildImage }] = await Promise.all([
        import('../../../config.ts'),
        import('../../../assembly/build-image.ts'),
      ])
      const { config } = loadWorkspaceConfig(process.env, { file: options.config })
      const stop = new AbortController()
      for (const signal of ['SIGINT', 'SIGTERM'] as const)
        process.once(signal, () => stop.abort(new Error('stopped: what was begun is removed')))
      const built = await buildImage(config, {
        archive: archive === '-' ? process.stdin : archive,
        tag: options.tag,
        backend: options.backend,
        progress: output.progress,
        signal: stop.signal,
      })
      output.result(built, () => `${built.tag} is ${built.digest}`)
    })
}

function notEmpty(text: string): string {
  if (text !== '') return text
  throw new InvalidArgumentError('It must name a file.')
}
