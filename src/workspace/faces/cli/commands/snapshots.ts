import type { Command } from 'commander'
import { examples } from '../../../../lib/cli/examples.ts'
import { formatRecord, formatTable } from '../../../../lib/cli/table.ts'
import type { WireSnapshot } from '../../../api/snapshot.ts'
import { addServerOption, contextOf } from '../context.ts'

const SNAPSHOTS = '/api/snapshots'

/** Adds the commands `snapshot ls`, `show`, `create` and `rm`. */
export function addSnapshots(program: Command): void {
  const snapshot = program.command('snapshot').description("manage snapshots of virtual machines' disks")

  addServerOption(snapshot.command('ls'))
    .addHelpText('after', examples('workspace snapshot ls'))
    .description('list snapshots')
    .action(async (_options: unknown, command: Command) => {
      const { client, output } = await contextOf(command)
      const answer = await client.get<{ snapshots: WireSnapshot[] }>(SNAPSHOTS)
      output.result(answer, () => snapshotsTable(answer.snapshots))
    })

  addServerOption(snapshot.command('show'))
    .addHelpText('after', examples('workspace snapshot show ready'))
    .description('show a snapshot')
    .argument('<name>')
    .action(async (name: string, _options: unknown, command: Command) => {
      const { client, output } = await contextOf(command)
      const answer = await client.get<{ snapshot: WireSnapshot }>(pathOf(name))
      output.result(answer, () => recordOf(answer.snapshot))
    })

  addServerOption(snapshot.command('create'))
    .addHelpText(
      'after',
      examples(
        'workspace stop demo',
        'workspace snapshot create ready demo --comment "toolchain installed"',
        'workspace create next --from-snapshot ready',
      ),
    )
    .description("create a snapshot of a stopped workspace's disk")
    .argument('<name>', 'snapshot name: letters, digits and hyphens')
    .argument('<workspace>', 'source workspace')
    .option('--comment <text>', 'description to store with the snapshot')
    .action(async (name: string, source: string, options: { comment?: string }, command: Command) => {
      const { client, output } = await contextOf(command)
      const body = { name, source_workspace: source, ...options }
      const taken = await client.post<{ snapshot: WireSnapshot; warnings: string[] }>(SNAPSHOTS, body)
      output.result(taken, () => [recordOf(taken.snapshot), ...taken.warnings].join('\n'))
    })

  addServerOption(snapshot.command('rm'))
    .addHelpText('after', examples('workspace snapshot rm ready'))
    .description('delete a snapshot; workspaces created from it are kept')
    .argument('<name>')
    .action(async (name: string, _options: unknown, command: Command) => {
      const { client, output } = await contextOf(command)
      await client.delete(pathOf(name))
      output.result({ deleted: name }, () => `${name} is deleted`)
    })
}

function pathOf(name: string): string {
  return `${SNAPSHOTS}/${encodeURIComponent(name)}`
}

function snapshotsTable(snapshots: readonly WireSnapshot[]): string {
  if (snapshots.length === 0)
    return 'no snapshots; create one of a stopped virtual machine with: workspace snapshot create NAME WORKSPACE'
  const rows = snapshots.map((each) => [
    each.name,
    each.backend,
    each.source_workspace,
    each.source_image,
    `${Math.ceil(each.size_bytes / 2 ** 20)} MiB`,
    each.created_at,
    each.error_message ?? (each.lower_cached ? (each.comment ?? '') : 'its image is not cached'),
  ])
  return formatTable(['NAME', 'BACKEND', 'SOURCE', 'IMAGE', 'SIZE', 'CREATED', ''], rows)
}

function recordOf(snapshot: WireSnapshot): string {
  return formatRecord(Object.entries(snapshot).map(([key, value]) => [key, String(value)] as const))
}
