import type { Command } from 'commander'
import { formatRecord, formatTable } from '../../../../lib/cli/table.ts'
import type { WireImage, WireManifest } from '../../../api/image.ts'
import { addServerOption, contextOf } from '../context.ts'
import { addImageBuild } from './image-build.ts'

const PULL = '/api/images/pull'

interface Pulled {
  readonly tag: string
  readonly digest: string
}

/** image ls, inspect, pull, build, tag, rm, prune. */
export function addImages(program: Command): void {
  const image = program.command('image').description('images that workspaces are made from')

  addServerOption(image.command('ls'))
    .description('list images, and those that the configuration names and that are not here')
    .action(async (_options: unknown, command: Command) => {
      const { client, output } = await contextOf(command)
      const answer = await client.get<{ images: WireImage[] }>('/api/images')
      output.result(answer, () => imagesTable(answer.images))
    })

  addBackendOption(addServerOption(image.command('inspect')))
    .description('show one image and what it is made of')
    .argument('<name>', 'tag, digest, Docker reference or alias')
    .option('--verify', 'read every byte and compare it with the digest')
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
    .description('pull a Docker image, and make it into one that VMs boot where the backend has VMs')
    .argument('<reference>', 'Docker image, by tag or digest')
    .option('--tag <tag>', 'what it is called here; default from the reference')
    .addHelpText('after', '\nExample:\n  workspace image pull debian:12 --backend qemu --tag deb')
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
    .description('give an image another tag')
    .argument('<source>', 'tag, digest, Docker reference or alias')
    .argument('<target>', 'the tag')
    .action(async (source: string, target: string, options: { backend?: string }, command: Command) => {
      const { client, output } = await contextOf(command)
      const backend = options.backend !== undefined && { backend: options.backend }
      await client.send('/api/images/tag', { source, target, ...backend })
      output.result({ tag: target }, () => `${target} stands for ${source}`)
    })

  addBackendOption(addServerOption(image.command('rm')))
    .description('take a tag away, or delete the image that a digest names; prune deletes what has no tag')
    .argument('<name>', 'tag, digest, Docker reference or alias')
    .action(async (name: string, options: { backend?: string }, command: Command) => {
      const { client, output } = await contextOf(command)
      await client.delete(`/api/images/${encodeURIComponent(name)}${queryOf({ backend: options.backend })}`)
      output.result({ deleted: name }, () => `${name} is gone`)
    })

  addServerOption(image.command('prune'))
    .description('delete the images of VMs that neither the configuration nor a workspace needs')
    .option('--dry-run', 'say what that would be')
    .action(async (options: { dryRun?: boolean }, command: Command) => {
      const { client, output } = await contextOf(command)
      const path = `/api/images/prune?dry_run=${options.dryRun === true}`
      const answer = await client.post<{ deleted: WireImage[] }>(path)
      output.result(answer, () =>
        answer.deleted.length === 0 ? 'nothing to delete' : imagesTable(answer.deleted),
      )
    })
}

/** server pull-images. */
export function addServerCommands(program: Command): void {
  const server = program.command('server').description('care for a server')
  addServerOption(server.command('pull-images'))
    .description('pull every image that the configuration of the server names')
    .action(async (_options: unknown, command: Command) => {
      const { client, output } = await contextOf(command)
      const { images } = await client.get<{ images: WireImage[] }>('/api/images')
      const pulled: Pulled[] = []
      for (const { docker_ref: reference, backend, tag } of images.filter(
        (image) => image.source === 'config',
      )) {
        // An image that was built here has no place to come from.
        if (reference === undefined) continue
        const isNamed = backend !== 'docker' && tag !== ''
        const body = { docker_ref: reference, backend, ...(isNamed && { tag }) }
        pulled.push(await client.postWithProgress<Pulled>(PULL, body, output.progress))
      }
      output.result({ pulled }, () =>
        pulled.length === 0
          ? 'the configuration names no image that could be pulled'
          : formatTable(
              ['TAG', 'DIGEST'],
              pulled.map(({ tag, digest }) => [tag, digest]),
            ),
      )
    })
}

function addBackendOption(command: Command): Command {
  return command.option('--backend <backend>', 'whose image is meant: docker, firecracker, vz or qemu')
}

function queryOf(parameters: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(parameters).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  )
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`
}

function imagesTable(images: readonly WireImage[]): string {
  if (images.length === 0) return 'no images; get one with: workspace image pull REFERENCE'
  const rows = images.map((image) => [
    image.name.replace(/^(sha256:[0-9a-f]{12})[0-9a-f]+$/, '$1'),
    image.backend,
    image.cached ? `${Math.ceil(image.size_bytes / 2 ** 20)} MiB` : 'not here',
    [image.source, image.is_default === true ? 'default' : '', image.alias ?? '']
      .filter((word) => word !== '')
      .join(', '),
    image.in_use ? 'in use' : '',
    image.digest.replace(/^sha256:(.{12}).*$/, '$1'),
  ])
  return formatTable(['NAME', 'BACKEND', 'SIZE', 'SOURCE', '', 'DIGEST'], rows)
}

function fieldsOf(record: object): readonly (readonly [string, string])[] {
  return Object.entries(record).map(([key, value]) => [key, String(value)] as const)
}
