import type { Command } from 'commander'
import { examples } from '../../../../lib/cli/examples.ts'
import { ExitStatus } from '../../../../lib/cli/run.ts'
import { formatTable } from '../../../../lib/cli/table.ts'
import type { WireCheckpoint, WireRewound } from '../../../api/checkpoint.ts'
import { confirm } from '../confirm.ts'
import { addServerOption, contextOf } from '../context.ts'

/** Adds the commands `checkpoint`, `checkpoints` and `rewind`. */
export function addCheckpoints(program: Command): void {
  addServerOption(program.command('checkpoint'))
    .description("take a checkpoint of a workspace's files, to rewind it to")
    .argument('<name>')
    .option('--label <text>', 'text to store with the checkpoint')
    .addHelpText('after', examples('workspace checkpoint demo --label "before the upgrade"'))
    .action(async (name: string, { label }: { label?: string }, command: Command) => {
      const { client, output } = await contextOf(command)
      const checkpoint = await client.post<WireCheckpoint>(pathOf(name), { label })
      output.result(checkpoint, () => `checkpoint ${checkpoint.id} of ${name}`)
    })

  addServerOption(program.command('checkpoints'))
    .description('list the checkpoints of a workspace, oldest first')
    .argument('<name>')
    .option('--delete <id>', 'delete this checkpoint instead')
    .addHelpText(
      'after',
      examples('workspace checkpoints demo', 'workspace checkpoints demo --delete 1f0c9d2e4b6a8057'),
    )
    .action(async (name: string, { delete: id }: { delete?: string }, command: Command) => {
      const { client, output } = await contextOf(command)
      if (id !== undefined) {
        await client.delete(`${pathOf(name)}/${encodeURIComponent(id)}`)
        return output.result({ deleted: id }, () => `checkpoint ${id} of ${name} is deleted`)
      }
      const answer = await client.get<{ checkpoints: WireCheckpoint[] }>(pathOf(name))
      output.result(answer, () => checkpointsTable(name, answer.checkpoints))
    })

  addServerOption(program.command('rewind'))
    .description('put back the files of a checkpoint')
    .argument('<name>')
    .argument(
      '<to>',
      'id of a checkpoint, or a duration such as 10m for the newest one that is at least that old',
    )
    .option('--force', 'do not ask for confirmation')
    .addHelpText(
      'after',
      '\nTakes a checkpoint first, so that the rewind can be undone. Non-interactive use requires --force.\n' +
        examples('workspace rewind demo 10m', 'workspace rewind demo 1f0c9d2e4b6a8057 --force'),
    )
    .action(async (name: string, to: string, { force }: { force?: boolean }, command: Command) => {
      if (force !== true) await requireConfirmation(name, command)
      const { client, output } = await contextOf(command)
      const rewound = await client.post<WireRewound>(`/api/workspaces/${encodeURIComponent(name)}/rewind`, {
        to,
      })
      output.result(rewound, () => rewoundText(rewound))
    })
}

async function requireConfirmation(name: string, command: Command): Promise<void> {
  if (!process.stdin.isTTY || !process.stdout.isTTY)
    command.error("error: cannot ask for confirmation without a terminal: use '--force' to rewind")
  if (await confirm(`Stop the programs of ${name} and replace its files?`)) return
  process.stderr.write('canceled; nothing was changed\n')
  throw new ExitStatus(1)
}

function pathOf(name: string): string {
  return `/api/workspaces/${encodeURIComponent(name)}/checkpoints`
}

function rewoundText({ workspace: { name, status }, to, before }: WireRewound): string {
  return [
    `${name} has the files of ${to.created_at} and is ${status}`,
    `undo with: workspace rewind ${name} ${before.id}`,
  ].join('\n')
}

function checkpointsTable(name: string, checkpoints: readonly WireCheckpoint[]): string {
  if (checkpoints.length === 0) return `no checkpoints; take one with: workspace checkpoint ${name}`
  const rows = checkpoints.map(({ id, created_at: createdAt, reason, size_bytes: bytes, label = '' }) => [
    id,
    createdAt,
    reason,
    bytes === undefined ? '' : `${Math.ceil(bytes / 2 ** 20)} MiB`,
    label,
  ])
  return formatTable(['ID', 'CREATED', 'REASON', 'SIZE', 'LABEL'], rows)
}
