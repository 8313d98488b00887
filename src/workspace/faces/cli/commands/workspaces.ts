import { resolve } from 'node:path'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { portNumber, wholeNumber } from '../../../../lib/cli/arguments.ts'
import { examples } from '../../../../lib/cli/examples.ts'
import type { WireConnected } from '../../../api/bus.ts'
import type { WireWorkspace } from '../../../api/workspace.ts'
import type { WorkspaceLabels } from '../../../labels.ts'
import type { ServerAddress } from '../../../client/server-address.ts'
import { queryAllServers } from '../query-all-servers.ts'
import { addAllOption, addServerOption, contextOf, outputOf } from '../context.ts'
import { hostOf } from '../ssh-client.ts'
import { serversTable, workspaceRecord, workspacesTable } from '../workspace-table.ts'

interface CreateOptions {
  readonly template?: string
  readonly repo?: string
  readonly localDir?: string
  readonly image?: string
  readonly backend?: string
  readonly cpus?: number
  readonly memoryMb?: number
  readonly upperSize?: number
  /** False with `--no-provision`. */
  readonly provision: boolean
  readonly dotfiles?: string
  readonly fromSnapshot?: string
  readonly egress?: string
  readonly hostPorts?: readonly number[]
  readonly label?: WorkspaceLabels
  readonly wake?: boolean
}

interface ListOptions {
  readonly all?: boolean
  readonly verbose: number
  readonly label?: readonly string[]
}

const ACTIONS = {
  start: 'start a workspace',
  stop: 'stop a workspace; the memory of a suspended one is discarded',
  suspend: 'save the memory of a running workspace and stop it; start continues its programs',
  reset: 'reset a stopped workspace to its image, deleting everything written in it',
} as const

/** Adds the commands `list`, `show`, `create`, `start`, `stop`, `suspend`, `reset` and `rm`. */
export function addWorkspaceCommands(program: Command): void {
  addAllOption(addServerOption(program.command('list')))
    .addHelpText(
      'after',
      examples('workspace list', 'workspace list -vv --all', 'workspace list --label team=web'),
    )
    .alias('ls')
    .description('list workspaces')
    .addOption(
      new Option('-v, --verbose', 'also show images and addresses; repeat to show extensions')
        .default(0)
        .argParser((_value, previous: number) => previous + 1),
    )
    .option('--label <condition>', 'only workspaces with this label, KEY=VALUE or KEY; repeatable', collect)
    .action(async (options: ListOptions, command: Command) => {
      const path = listPath(options.label)
      if (options.all === true) return listAll(command, path)
      const { client, output } = await contextOf(command)
      const { workspaces } = await client.get<{ workspaces: WireWorkspace[] }>(path)
      if (options.verbose < 2)
        return output.result({ workspaces }, () => workspacesTable(workspaces, options.verbose))
      const { workspaces: connected } = await client.get<{ workspaces: WireConnected[] }>(
        '/api/plugins/workspaces',
      )
      const extensionsOf = ({ name }: WireWorkspace) =>
        connected.find((each) => each.name === name)?.extensions
      const withExtensions = workspaces.map((each) => ({ ...each, extensions: extensionsOf(each) }))
      output.result({ workspaces: withExtensions }, () =>
        workspacesTable(workspaces, options.verbose, connected),
      )
    })

  addServerOption(program.command('show'))
    .addHelpText('after', examples('workspace show demo'))
    .description('show a workspace')
    .argument('<name>')
    .action(async (name: string, _options: unknown, command: Command) => {
      const { client, output } = await contextOf(command)
      const workspace = await client.get<WireWorkspace>(pathOf(name))
      output.result(workspace, () => workspaceRecord(workspace))
    })

  addCreate(program)

  for (const [action, description] of Object.entries(ACTIONS)) {
    addServerOption(program.command(action))
      .addHelpText('after', examples(`workspace ${action} demo`))
      .description(description)
      .argument('<name>')
      .action(async (name: string, _options: unknown, command: Command) => {
        const { client, output } = await contextOf(command)
        const workspace = await client.post<WireWorkspace>(`${pathOf(name)}/${action}`)
        output.result(workspace, () => `${workspace.name} is ${workspace.status}`)
      })
  }

  addServerOption(program.command('rm'))
    .addHelpText('after', examples('workspace rm demo'))
    .description('delete a workspace and, by default, its files')
    .argument('<name>')
    .option('--keep-volume', 'keep its files for the next workspace with that name')
    .action(async (name: string, options: { keepVolume?: boolean }, command: Command) => {
      const { client, output } = await contextOf(command)
      await client.delete(`${pathOf(name)}${options.keepVolume === true ? '?keep_volume=true' : ''}`)
      output.result({ deleted: name }, () => `${name} is deleted`)
    })
}

/** Lists the workspaces of all servers. An offline server is part of the output; the command still succeeds. */
async function listAll(command: Command, path: string): Promise<void> {
  const answers = await queryAllServers<{ workspaces: WireWorkspace[] }>(path)
  const servers = answers.map((each) =>
    'answer' in each
      ? { server_name: each.serverName, workspaces: each.answer.workspaces }
      : { server_name: each.serverName, error: each.error },
  )
  outputOf(command).result({ servers }, () => serversTable(servers))
}

function addCreate(program: Command): void {
  addServerOption(program.command('create'))
    .description('create a workspace and wait until it is running')
    .argument('<name>', 'letters, digits and hyphens')
    .option(
      '--template <name>',
      "template to start from (see 'workspace templates'); other options override it",
    )
    .option('--repo <repo>', 'repository to clone: owner/repo on GitHub, or a URL')
    .option(
      '--local-dir <dir>',
      'directory on the server to mount instead of cloning; relative paths need a local server',
    )
    .option('--image <image>', "image or alias (default: the server's)")
    .option('--backend <backend>', 'docker, firecracker, vz or qemu')
    .option('--cpus <n>', 'number of CPUs', wholeNumber)
    .option('--memory-mb <n>', 'memory in MiB', wholeNumber)
    .option('--upper-size <gb>', "size of a virtual machine's writable disk in GB, 1 to 100", wholeNumber)
    .option('--from-snapshot <name>', 'snapshot to copy the disk from; excludes --repo and --image')
    .option('--no-provision', 'ignore devcontainer.json and dotfiles')
    .option('--dotfiles <repo>', 'repository with dotfiles for the home directory')
    .option(
      '--egress <what>',
      'restrict outgoing traffic: internet, none, or a comma-separated list of names and networks',
    )
    .option(
      '--host-ports <ports>',
      "allow only these of the host ports that the server permits, comma-separated; '' for none",
      portList,
    )
    .option('--wake', "start it when somebody connects to it (default: the server's idle.wake)")
    .option('--no-wake', 'start it only when asked to')
    .option('--label <key=value>', 'label to select it by later; repeatable', addLabel)
    .addHelpText(
      'after',
      examples(
        'workspace create demo --repo octocat/Hello-World',
        'workspace create demo --template web --cpus 8',
        'workspace create here --local-dir "$PWD" --label team=web --label temporary=',
      ),
    )
    .action(async (name: string, options: CreateOptions, command: Command) => {
      const { client, output, server } = await contextOf(command)
      const { localDir, memoryMb, upperSize, repo, image, backend, cpus, provision, dotfiles, fromSnapshot } =
        options
      const { template, egress, hostPorts, label: labels, wake } = options
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
      const body = { name, template, repo, image, backend, cpus, dotfiles, labels, wake, ...renamed }
      const workspace = await client.postWithProgress<WireWorkspace>('/api/workspaces', body, output.progress)
      output.result(workspace, () => workspaceRecord(workspace))
    })
}

/** Resolves a relative path if the server is on this machine; passes it unchanged to a remote server. */
function directoryFor(server: ServerAddress, directory: string): string {
  return /^(?:localhost|127\.[\d.]+|::1)$/.test(hostOf(server)) ? resolve(directory) : directory
}

/** Parses a comma-separated list of ports; '' is an empty list. */
function portList(text: string): readonly number[] {
  const ports = text.split(',').filter(Boolean).map(portNumber)
  if (ports.every((port) => port > 0)) return ports
  throw new InvalidArgumentError('It must be a comma-separated list of ports from 1 to 65535.')
}

/** Adds a `key=value` to the labels before it; the server validates both. */
function addLabel(text: string, before: WorkspaceLabels = {}): WorkspaceLabels {
  const at = text.indexOf('=')
  if (at > 0) return { ...before, [text.slice(0, at)]: text.slice(at + 1) }
  throw new InvalidArgumentError('It must be KEY=VALUE, such as team=web.')
}

function collect(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text]
}

function listPath(conditions: readonly string[] = []): string {
  const query = new URLSearchParams(conditions.map((condition) => ['label', condition] as [string, string]))
  return conditions.length === 0 ? '/api/workspaces' : `/api/workspaces?${query.toString()}`
}

function pathOf(name: string): string {
  return `/api/workspaces/${encodeURIComponent(name)}`
}
