import { type Command, InvalidArgumentError, Option } from 'commander'
import { outputOf } from '../context.ts'
import { examples } from '../../../../lib/cli/examples.ts'

interface BuildOptions {
  readonly base?: boolean
  readonly tag?: string
  readonly backend?: string
  readonly config?: string
}

/** Adds the command `image build`. It runs on this machine with the server's configuration: archives can be large, and the base image requires root. */
export function addImageBuild(image: Command): void {
  image
    .command('build')
    .description(
      'build a VM image on this machine from a root file system in a tar archive, or build the base image',
    )
    .argument('[archive]', 'tar archive, compressed or not; - for standard input', notEmpty)
    .addOption(
      new Option('--base', "build the base image from Debian's packages (requires root and debootstrap)"),
    )
    .option('--tag <tag>', 'tag of the image (default: the name of the archive, or base)')
    .option('--backend <backend>', 'firecracker, vz or qemu (default: the first enabled one)')
    .option('--config <file>', "the server's config file")
    .addHelpText(
      'after',
      examples(
        'workspace image build --base',
        'docker export demo | workspace image build - --tag demo --backend qemu',
      ),
    )
    .action(async (archive: string | undefined, options: BuildOptions, command: Command) => {
      if ((archive === undefined) === (options.base !== true))
        command.error("error: specify either an archive or '--base'")
      const output = outputOf(command)
      const [{ loadWorkspaceConfig }, { buildImage }] = await Promise.all([
        import('../../../config.ts'),
        import('../../../assembly/build-image.ts'),
      ])
      const { config } = loadWorkspaceConfig(process.env, { file: options.config })
      const stop = new AbortController()
      for (const signal of ['SIGINT', 'SIGTERM'] as const)
        process.once(signal, () => stop.abort(new Error('interrupted; the partial image was removed')))
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
  throw new InvalidArgumentError('It must not be empty.')
}
