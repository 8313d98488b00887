import { resolve } from 'node:path'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { portNumber, wholeNumber } from '../../../../lib/cli/arguments.ts'
import type { WireConnected } from '../../../api/bus.ts'
import type { WireWorkspace } from '../../../api/workspace.ts'
import type { ServerAddress } from '../../../client/server-address.ts'
import { askAllServers } from '../ask-all.ts'
import { addAllOption, addServerOption, contextOf, outputOf } from '../context.ts'
import { hostOf } from '../ssh-client.ts'
import { serversTable, workspaceRecord, workspacesTable } from '../workspace-table.ts'

interface CreateOptions {
  readonly repo?: string
  readonly localDir?: string
  readonly image?: string
  readonly backend?: string
  readonly cpus?: number
  readonly memoryMb?: number
  readonly upperSize?: number
  /** False when told not to. */
  readonly provision: boolean
  readonly dotfiles?: string
  readonly fromSnapshot?: string
  readonly egress?: string
  readonly hostPorts?: readonly number[]
}

const ACTIONS = {
  start: 'start a workspace',
  stop: 'stop a workspace',
  reset: 'make a stopped workspace as its image is; everything written in it is lost',
} as const

/** list, show, create, start, stop, reset, rm. */
export function addWorkspaceCommands(program: Command): void {
  addAllOption(addServerOption(program.command('list')))
    .alias('ls')
    .description('list workspaces')
    .addOption(
      new Option('-v, --verbose', 'also images and addresses; twice: also how extensions fare')
        .default(0)
        .argParser((_value, previous: number) => previous + 1),
    )
    .action(async (options: { all?: boolean; verbose: number }, command: Command) => {
      if (options.all === true) return listAll(command)
      const { client, output } = await contextOf(command)
      const { workspaces } = await client.get<{ workspaces: WireWorkspace[] }>('/api/workspaces')
      if (options.verbose < 2)
        return output.result({ workspaces }, () => workspacesTable(workspaces, options.verbose))
      const { workspaces: connected } = await client.get<{ workspaces: WireConnected[] }>(
        '/api/plugins/workspaces',
      )
      const extensionsOf = ({ name }: WireWorkspace) =>
        connected.find((each) => each.name === name)?.extensions
      const told = workspaces.map((each) => ({ ...each, extensions: extensionsOf(each) }))
      output.result({ workspaces: told }, () => workspacesTable(workspaces, options.verbose, connected))
    })

  addServerOption(program.command('show'))
    .description('show one workspace')
    .argument('<name>')
    .action(async (name: string, _options: unknown, command: Command) => {
      const { client, output } = await contextOf(command)
      const workspace = await client.get<WireWorkspace>(pathOf(name))
      output.result(workspace, () => workspaceRecord(workspace))
    })

  addCreate(program)

  for (const [action, description] of Object.entries(ACTIONS)) {
    addServerOption(program.command(action))
      .description(description)
      .argument('<name>')
      .action(async (name: string, _options: unknown, command: Command) => {
        const { client, output } = await contextOf(command)
        const workspace = await client.post<WireWorkspace>(`${pathOf(name)}/${action}`)
        output.result(workspace, () => `${workspace.name} is ${workspace.status}`)
      })
  }

  addServerOption(program.command('rm'))
    .description('delete a workspace and, unless told to keep them, its files')
    .argument('<name>')
    .option('--keep-volume', 'keep its files for the next workspace of that name')
    .action(async (name: string, options: { keepVolume?: boolean }, command: Command) => {
      const { client, output } = await contextOf(command)
      await client.delete(`${pathOf(name)}${options.keepVolume === true ? '?keep_volume=true' : ''}`)
      output.result({ deleted: name }, () => `${name} is deleted`)
    })
}

/** Offline servers are part of the answer, and no failure of the command. */
async function listAll(command: Command): Promise<void> {
  const answers = await askAllServers<{ workspaces: WireWorkspace[] }>('/api/workspaces')
  const servers = answers.map((each) =>
    'answer' in each
      ? { server_name: each.serverName, workspaces: each.answer.workspaces }
      : { server_name: each.serverName, error: each.error },
  )
  outputOf(command).result({ servers }, () => serversTable(servers))
}

function addCreate(program: Command): void {
  addServerOption(program.command('create'))
    .description('create a workspace and wait until it runs')
    .argument('<name>', 'letters, digits and hyphens')
    .option('--repo <repo>', 'owner/repo on GitHub, or a URL, to clone inside it')
    .option(
      '--local-dir <dir>',
      'directory of the server to mount instead; a relative one where the server is on this machine',
    )
    .option('--image <image>', "image or alias; default the server's")
    .option('--backend <backend>', 'docker, firecracker, vz or qemu')
    .option('--cpus <n>', 'CPUs', wholeNumber)
    .option('--memory-mb <n>', 'memory in MiB', wholeNumber)
    .option('--upper-size <gb>', "size of a virtual machine's own disk in GB, 1 to 100", wholeNumber)
    .option('--from-snapshot <name>', 'snapshot whose copy is its disk; then neither repo nor image')
    .option('--no-provision', 'leave a devcontainer.json and dotfiles unheeded')
    .option('--dotfiles <repo>', 'repository that sets up the home directory inside')
    .option('--egress <what>', 'reach less: internet, none, or names and networks with commas between them')
    .option(
      '--host-ports <ports>',
      "of the ports that the server opens on its host, these alone; '' for none",
      portList,
    )
    .addHelpText(
      'after',
      '\nExamples:\n  workspace create demo --repo octocat/Hello-World\n  workspace create here --local-dir "$PWD"',
    )
    .action(async (name: string, options: CreateOptions, command: Command) => {
      const { client, output, server } = await contextOf(command)
      const { localDir, memoryMb, upperSize, repo, image, backend, cpus, provision, dotfiles, fromSnapshot } =
        options
      const { egress, hostPorts } = options
      const renamed = {
        local_dir: localDir === undefined ? undefined : directoryFor(server, localDir),
        from_snapshot: fromSnapshot,
        memory_mb: memoryMb,
        upper_size_bytes: upperSize === undefined ? undefined : upperSize * 2 ** 30,
        ...(!provision && { no_provision: true }),
        ...((egress !== undefined || hostPorts !== undefined) && {
          network: { egress, allow_host_ports: hostPorts },
        }),
      }
      const body = { name, repo, image, backend, cpus, dotfiles, ...renamed }
      const workspace = await client.postWithProgress<WireWorkspace>('/api/workspaces', body, output.progress)
      output.result(workspace, () => workspaceRecord(workspace))
    })
}

/** A relative path is one of this machine, and as it is written where the server is on another. */
function directoryFor(server: ServerAddress, directory: string): string {
  return /^(?:localhost|127\.[\d.]+|::1)$/.test(hostOf(server)) ? resolve(directory) : directory
}

/** Reads an option's value as ports with commas between them; '' is none. */
function portList(text: string): readonly number[] {
  const ports = text.split(',').filter(Boolean).map(portNumber)
  if (ports.every((port) => port > 0)) return ports
  throw new InvalidArgumentError('They must be ports from 1 to 65535, with commas between them.')
}

function pathOf(name: string): string {
  return `/api/workspaces/${encodeURIComponent(name)}`
}
