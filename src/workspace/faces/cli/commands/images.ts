import type { Command } from 'commander'
import { examples } from '../../../../lib/cli/examples.ts'
import { formatRecord, formatTable } from '../../../../lib/cli/table.ts'
import type { WireImage, WireManifest } from '../../../api/image.ts'
import { BACKEND_NAMES } from '../../../backend-name.ts'
import { addServerOption, contextOf } from '../context.ts'
import { addImageBuild } from './image-build.ts'

const PULL = '/api/images/pull'

interface Pulled {
  readonly tag: string
  readonly digest: string
}

/** Adds the commands `image ls`, `inspect`, `pull`, `build`, `tag`, `rm` and `prune`. */
export function addImages(program: Command): void {
  const image = program.command('image').description('manage images for workspaces')

  addServerOption(image.command('ls'))
    .addHelpText('after', examples('workspace image ls'))
    .description('list cached images and those named in the configuration')
    .action(async (_options: unknown, command: Command) => {
      const { client, output } = await contextOf(command)
      const answer = await client.get<{ images: WireImage[] }>('/api/images')
      output.result(answer, () => imagesTable(answer.images))
    })

  addBackendOption(addServerOption(image.command('inspect')))
    .addHelpText('after', examples('workspace image inspect base --verify'))
    .description('show an image and its manifest')
    .argument('<name>', 'tag, digest, Docker reference or alias')
    .option('--verify', 'read all data and compare it with the digest')
    .action(async (name: string, options: { verify?: boolean; backend?: string }, command: Command) => {
      const { client, output } = await contextOf(command)
      const query = queryOf({
        backend: options.backend,
        verify: options.verify === true ? 'true' : undefined,
      })
      const path = `/api/images/inspect/${encodeURIComponent(name)}${query}`
      const answer = await client.get<{ image: WireImage; manifest: WireManifest }>(path)
      output.result(answer, () => formatRecord(fieldsOf({ ...answer.image, ...answer.manifest })))
    })

  addBackendOption(addServerOption(image.command('pull')))
    .description('pull a Docker image and, for VM backends, convert it to a bootable one')
    .argument('<reference>', 'Docker image, by tag or digest')
    .option('--tag <tag>', 'tag of the image (default: derived from the reference)')
    .addHelpText('after', examples('workspace image pull debian:12 --backend qemu --tag deb'))
    .action(async (reference: string, options: { tag?: string; backend?: string }, command: Command) => {
      const { client, output } = await contextOf(command)
      const body = {
        docker_ref: reference,
        ...(options.tag !== undefined && { tag: options.tag }),
        ...(options.backend !== undefined && { backend: options.backend }),
      }
      const pulled = await client.postWithProgress<Pulled>(PULL, body, output.progress)
      output.result(pulled, () => `${pulled.tag} is ${pulled.digest}`)
    })

  addImageBuild(image)

  addBackendOption(addServerOption(image.command('tag')))
    .addHelpText('after', examples('workspace image tag deb stable'))
    .description('tag an image')
    .argument('<source>', 'tag, digest, Docker reference or alias')
    .argument('<target>', 'new tag')
    .action(async (source: string, target: string, options: { backend?: string }, command: Command) => {
      const { client, output } = await contextOf(command)
      const backend = options.backend !== undefined && { backend: options.backend }
      await client.send('/api/images/tag', { source, target, ...backend })
      output.result({ tag: target }, () => `${target} now refers to ${source}`)
    })

  addBackendOption(addServerOption(image.command('rm')))
    .addHelpText('after', examples('workspace image rm deb'))
    .description('remove a tag, or delete an image by digest; prune deletes untagged images')
    .argument('<name>', 'tag, digest, Docker reference or alias')
    .action(async (name: string, options: { backend?: string }, command: Command) => {
      const { client, output } = await contextOf(command)
      await client.delete(`/api/images/${encodeURIComponent(name)}${queryOf({ backend: options.backend })}`)
      output.result({ deleted: name }, () => `${name} is deleted`)
    })

  addServerOption(image.command('prune'))
    .addHelpText('after', examples('workspace image prune --dry-run'))
    .description('delete VM images that neither the configuration nor a workspace uses')
    .option('--dry-run', 'show what would be deleted')
    .action(async (options: { dryRun?: boolean }, command: Command) => {
      const { client, output } = await contextOf(command)
      const path = `/api/images/prune?dry_run=${options.dryRun === true}`
      const answer = await client.post<{ deleted: WireImage[] }>(path)
      output.result(answer, () =>
        answer.deleted.length === 0 ? 'nothing to delete' : imagesTable(answer.deleted),
      )
    })
}

/** Adds the command `server pull-images`. */
export function addServerCommands(program: Command): void {
  const server = program.command('server').description('maintain a server')
  addServerOption(server.command('pull-images'))
    .addHelpText('after', examples('workspace server pull-images'))
    .description("pull all images named in the server's configuration")
    .action(async (_options: unknown, command: Command) => {
      const { client, output } = await contextOf(command)
      const { images } = await client.get<{ images: WireImage[] }>('/api/images')
      const pulled: Pulled[] = []
      for (const { docker_ref: reference, backend, tag } of images.filter(
        (image) => image.source === 'config',
      )) {
        // An image built locally has no source to pull from.
        if (reference === undefined) continue
        const isNamed = backend !== 'docker' && tag !== ''
        const body = { docker_ref: reference, backend, ...(isNamed && { tag }) }
        pulled.push(await client.postWithProgress<Pulled>(PULL, body, output.progress))
      }
      output.result({ pulled }, () =>
        pulled.length === 0
          ? 'the configuration names no images to pull'
          : formatTable(
              ['TAG', 'DIGEST'],
              pulled.map(({ tag, digest }) => [tag, digest]),
            ),
      )
    })
}

function addBackendOption(command: Command): Command {
  return command.option('--backend <backend>', `backend of the image: ${BACKEND_NAMES.join(', ')}`)
}

function queryOf(parameters: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(parameters).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  )
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`
}

function imagesTable(images: readonly WireImage[]): string {
  if (images.length === 0) return 'no images; pull one with: workspace image pull REFERENCE'
  const rows = images.map((image) => [
    image.name.replace(/^(sha256:[0-9a-f]{12})[0-9a-f]+$/, '$1'),
    image.backend,
    image.cached ? `${Math.ceil(image.size_bytes / 2 ** 20)} MiB` : 'not cached',
    [image.source, image.is_default === true ? 'default' : '', image.alias ?? '']
      .filter((part) => part !== '')
      .join(', '),
    image.in_use ? 'in use' : '',
    image.digest.replace(/^sha256:(.{12}).*$/, '$1'),
  ])
  return formatTable(['NAME', 'BACKEND', 'SIZE', 'SOURCE', '', 'DIGEST'], rows)
}

function fieldsOf(record: object): readonly (readonly [string, string])[] {
  return Object.entries(record).map(([key, value]) => [key, String(value)] as const)
}
