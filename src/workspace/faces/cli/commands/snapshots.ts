import type { Command } from 'commander'
import { formatRecord, formatTable } from '../../../../lib/cli/table.ts'
import type { WireSnapshot } from '../../../api/snapshot.ts'
import { addServerOption, contextOf } from '../context.ts'

const SNAPSHOTS = '/api/snapshots'

/** snapshot ls, show, create, rm. */
export function addSnapshots(program: Command): void {
  const snapshot = program
    .command('snapshot')
    .description("copies of virtual machines' disks, of which new workspaces are made")

  addServerOption(snapshot.command('ls'))
    .description('list snapshots')
    .action(async (_options: unknown, command: Command) => {
      const { client, output } = await contextOf(command)
      const answer = await client.get<{ snapshots: WireSnapshot[] }>(SNAPSHOTS)
      output.result(answer, () => snapshotsTable(answer.snapshots))
    })

  addServerOption(snapshot.command('show'))
    .description('show one snapshot')
    .argument('<name>')
    .action(async (name: string, _options: unknown, command: Command) => {
      const { client, output } = await contextOf(command)
      const answer = await client.get<{ snapshot: WireSnapshot }>(pathOf(name))
      output.result(answer, () => recordOf(answer.snapshot))
    })

  addServerOption(snapshot.command('create'))
    .description('copy the disk of a stopped workspace')
    .argument('<name>', 'what it is called: letters, digits and hyphens')
    .argument('<workspace>', 'whose disk it is')
    .option('--comment <text>', 'what it is for')
    .addHelpText(
      'after',
      '\nExample:\n  workspace stop demo\n  workspace snapshot create ready demo --comment "toolchain installed"\n  workspace create next --from-snapshot ready',
    )
    .action(async (name: string, source: string, options: { comment?: string }, command: Command) => {
      const { client, output } = await contextOf(command)
      const body = { name, source_workspace: source, ...options }
      const taken = await client.post<{ snapshot: WireSnapshot; warnings: string[] }>(SNAPSHOTS, body)
      output.result(taken, () => [recordOf(taken.snapshot), ...taken.warnings].join('\n'))
    })

  addServerOption(snapshot.command('rm'))
    .description('delete a snapshot; workspaces that were made of it stay')
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
    return 'no snapshots; take one of a stopped virtual machine with: workspace snapshot create NAME WORKSPACE'
  const rows = snapshots.map((each) => [
    each.name,
    each.backend,
    each.source_workspace,
    each.source_image,
    `${Math.ceil(each.size_bytes / 2 ** 20)} MiB`,
    each.created_at,
    each.error_message ?? (each.lower_cached ? (each.comment ?? '') : 'its image is not here'),
  ])
  return formatTable(['NAME', 'BACKEND', 'OF', 'IMAGE', 'SIZE', 'CREATED', ''], rows)
}

function recordOf(snapshot: WireSnapshot): string {
  return formatRecord(Object.entries(snapshot).map(([key, value]) => [key, String(value)] as const))
}
