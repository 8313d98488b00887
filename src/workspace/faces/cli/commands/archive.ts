import { createReadStream } from 'node:fs'
import { access, open, rename, rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { type Command, Option } from 'commander'
import { formatBytes } from '../../../../lib/cli/bytes.ts'
import { examples } from '../../../../lib/cli/examples.ts'
import { isFault } from '../../../../lib/errors/fault.ts'
import { messageOf } from '../../../../lib/errors/message.ts'
import type { WireWorkspace } from '../../../api/workspace.ts'
import { BACKEND_NAMES } from '../../../backend-name.ts'
import { addServerOption, contextOf } from '../context.ts'
import { copyFault } from '../copy/endpoint.ts'
import { CopyMeter } from '../copy/meter.ts'
import { workspaceRecord } from '../workspace-table.ts'

interface ImportOptions {
  readonly name?: string
  readonly backend?: string
  readonly image?: string
}

/** Adds the commands `export` and `import`. */
export function addArchive(program: Command): void {
  addServerOption(program.command('export'))
    .description('export the files and settings of a running workspace as an archive')
    .argument('<name>')
    .argument('[file]', 'archive to create; default NAME.tar.gz, - for standard output')
    .addHelpText(
      'after',
      examples('workspace export demo', 'workspace export demo - | ssh backup "cat > demo.tar.gz"'),
    )
    .action(async (name: string, file: string | undefined, _options: unknown, command: Command) => {
      const { client, output } = await contextOf(command)
      const path = `/api/workspaces/${encodeURIComponent(name)}/export`
      const meter = new CopyMeter()
      const download = (target: NodeJS.WritableStream, end: boolean) =>
        client.download(path).then((response) => pipeline(response, meter.counter(), target, { end }))
      try {
        if (file === '-') return await toStandardOutput(() => download(process.stdout, false))
        const target = file ?? `${name}.tar.gz`
        await toNewFile(target, (stream) => download(stream, true))
        meter.clear()
        output.result(
          { exported: name, file: target, bytes: meter.bytes },
          () => `exported ${name} to ${target} (${formatBytes(meter.bytes)})`,
        )
      } catch (error) {
        if (isFault(error)) throw error
        const why = `the export of "${name}" is incomplete: ${messageOf(error)}`
        throw copyFault('COPY_FAILED', `${why}; the server's log has the reason`, error)
      } finally {
        meter.clear()
      }
    })

  addServerOption(program.command('import'))
    .description('create a workspace from an archive of "workspace export"')
    .argument('[file]', 'archive to read; default and - for standard input')
    .option('--name <name>', "name of the new workspace; default the archive's")
    .addOption(new Option('--backend <backend>', 'backend of the new workspace').choices(BACKEND_NAMES))
    .option('--image <image>', 'image of the new workspace')
    .addHelpText(
      'after',
      examples('workspace import demo.tar.gz --name copy', 'workspace import demo.tar.gz --backend qemu'),
    )
    .action(async (file: string | undefined, options: ImportOptions, command: Command) => {
      const { client, output } = await contextOf(command)
      const { name, backend, image } = options
      const given = Object.entries({ name, backend, image }).filter((pair) => pair[1] !== undefined)
      const query = new URLSearchParams(given as [string, string][]).toString()
      const meter = new CopyMeter()
      const archive = (await sourceOf(file)).pipe(meter.counter())
      try {
        const path = `/api/workspaces/import${query === '' ? '' : `?${query}`}`
        const workspace = await client.postFile<WireWorkspace>(path, archive)
        meter.clear()
        output.result(workspace, () => workspaceRecord(workspace))
      } finally {
        meter.clear()
        archive.destroy()
      }
    })
}

async function toStandardOutput(write: () => Promise<void>): Promise<void> {
  if (process.stdout.isTTY)
    throw copyFault('COPY_INVALID', 'an archive is not written to a terminal; redirect standard output')
  await write()
}

/** Creates a file that appears under its name only when it is complete. */
async function toNewFile(
  path: string,
  write: (stream: NodeJS.WritableStream) => Promise<void>,
): Promise<void> {
  const temporary = `${path}.part`
  const exists = await access(path).then(
    () => true,
    () => false,
  )
  if (exists) throw copyFault('COPY_INVALID', `${path} already exists; choose another file, or remove it`)
  const file = await open(temporary, 'wx').catch((error: unknown) => {
    throw copyFault('COPY_INVALID', `cannot create ${temporary}: ${messageOf(error)}`, error)
  })
  try {
    await write(file.createWriteStream({ flush: true }))
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

async function sourceOf(file: string | undefined): Promise<NodeJS.ReadableStream> {
  if (file === undefined || file === '-') {
    if (!process.stdin.isTTY) return process.stdin
    throw copyFault('COPY_INVALID', 'name the archive to import, or pipe it to standard input')
  }
  try {
    await access(file)
    return createReadStream(file)
  } catch (error) {
    throw copyFault('COPY_INVALID', `cannot read ${file}: ${messageOf(error)}`, error)
  }
}
