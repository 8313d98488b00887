import { type Command, Option } from 'commander'
import { collect } from '../../../../lib/cli/arguments.ts'
import { examples } from '../../../../lib/cli/examples.ts'
import type { Output } from '../../../../lib/cli/output.ts'
import { isFault } from '../../../../lib/errors/fault.ts'
import type { WireConnected } from '../../../api/bus.ts'
import type { WireWorkspace } from '../../../api/workspace.ts'
import { queryAllServers } from '../query-all-servers.ts'
import { addAllOption, addServerOption, contextOf, outputOf } from '../context.ts'
import { addCreateOptions, createBody, type CreateOptions } from '../create-options.ts'
import { forEachName } from '../each-name.ts'
import { serversTable, workspaceRecord, workspacesTable } from '../workspace-table.ts'

interface ListOptions {
  readonly all?: boolean
  readonly verbose: number
  readonly label?: readonly string[]
}

interface RemoveOptions {
  readonly keepVolume?: boolean
  readonly force?: boolean
}

const ACTIONS = {
  start: 'start workspaces',
  stop: 'stop workspaces; the memory of suspended ones is discarded',
  suspend: 'save the memory of running workspaces and stop them; start continues their programs',
  reset: 'reset stopped workspaces to their images, deleting everything written in them',
} as const

/** Adds the commands `list`, `show`, `create`, `start`, `stop`, `suspend`, `reset`, `rename` and `rm`. */
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
      reportDoubts(output, workspaces)
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
      .addHelpText('after', examples(`workspace ${action} demo`, `workspace ${action} web db`))
      .description(description)
      .argument('<name...>')
      .action(async (names: readonly string[], _options: unknown, command: Command) => {
        const { client, output } = await contextOf(command)
        const act = (name: string) => client.post<WireWorkspace>(`${pathOf(name)}/${action}`)
        await forEachName(names, act, (workspaces) =>
          output.result(names.length === 1 ? workspaces[0] : { workspaces }, () =>
            workspaces.map(({ name, status }) => `${name} is ${status}`).join('\n'),
          ),
        )
      })
  }

  addServerOption(program.command('rename'))
    .addHelpText('after', examples('workspace rename demo shop'))
    .description('rename a stopped virtual machine')
    .argument('<name>')
    .argument('<new-name>', 'letters, digits and hyphens')
    .action(async (name: string, newName: string, _options: unknown, command: Command) => {
      const { client, output } = await contextOf(command)
      const workspace = await client.post<WireWorkspace>(`${pathOf(name)}/rename`, { name: newName })
      output.result(workspace, () => `${name} is now ${workspace.name}`)
    })

  addServerOption(program.command('rm'))
    .addHelpText('after', examples('workspace rm demo', 'workspace rm web db --keep-volume'))
    .description('delete workspaces and, by default, their files, without asking')
    .argument('<name...>')
    .option('--keep-volume', 'keep the files for the next workspace with that name')
    .option('-f, --force', 'succeed if there is no such workspace')
    .option('-y, --yes', 'accepted for scripts; this command never asks')
    .action(async (names: readonly string[], options: RemoveOptions, command: Command) => {
      const { client, output } = await contextOf(command)
      const query = options.keepVolume === true ? '?keep_volume=true' : ''
      const act = async (name: string): Promise<string> => {
        await client.delete(`${pathOf(name)}${query}`).catch((error: unknown) => {
          if (options.force !== true || !isFault(error) || error.code !== 'WORKSPACE_NOT_FOUND') throw error
        })
        return name
      }
      await forEachName(names, act, (deleted) =>
        output.result({ deleted: names.length === 1 ? deleted[0] : deleted }, () =>
          deleted.map((name) => `${name} is deleted`).join('\n'),
        ),
      )
    })
}

/** Lists the workspaces of all servers. An offline server is part of the output; the command still succeeds. */
/** Reports why workspaces that are shown as running may not be. */
function reportDoubts({ progress, warnings }: Output, workspaces: readonly WireWorkspace[]): void {
  const reasons = workspaces.flatMap(({ status, status_reason: why }) =>
    status === 'running' && why !== undefined ? [why.reason] : [],
  )
  const all = [...new Set(reasons)]
  for (const each of all) progress(each)
  warnings(all)
}

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
  addCreateOptions(addServerOption(program.command('create')))
    .description('create a workspace and wait until it is running')
    .argument('<name>', 'letters, digits and hyphens')
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
      const body = createBody(name, options, server)
      const workspace = await client.postWithProgress<WireWorkspace>('/api/workspaces', body, output.progress)
      output.warnings(workspace.warnings)
      output.result(workspace, () => workspaceRecord(workspace))
    })
}

function listPath(conditions: readonly string[] = []): string {
  const query = new URLSearchParams(conditions.map((condition) => ['label', condition] as [string, string]))
  return conditions.length === 0 ? '/api/workspaces' : `/api/workspaces?${query.toString()}`
}

function pathOf(name: string): string {
  return `/api/workspaces/${encodeURIComponent(name)}`
}
