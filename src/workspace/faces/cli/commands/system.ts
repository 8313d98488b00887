import { writeFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { wholeNumber } from '../../../../lib/cli/arguments.ts'
import { formatBytes } from '../../../../lib/cli/bytes.ts'
import { examples } from '../../../../lib/cli/examples.ts'
import { ExitStatus } from '../../../../lib/cli/run.ts'
import type { WireDiskReport } from '../../../api/disk.ts'
import type { WireCompactReport, WirePruneReport } from '../../../api/prune.ts'
import { runOnAllServers, type ServerAnswer } from '../query-all-servers.ts'
import type { WorkspaceClient } from '../../../client/client.ts'
import { addAllOption, addServerOption, contextOf, outputOf } from '../context.ts'
import { confirm } from '../confirm.ts'
import { diskTable } from '../disk-table.ts'
import { compactTable, pruneTable } from '../prune-table.ts'

const COLUMNS = 80

interface DfOptions {
  readonly verbose?: boolean
  readonly all?: boolean
  readonly cached?: boolean
  readonly tree?: boolean
  readonly svg?: string
}

interface PruneOptions {
  readonly images?: boolean
  readonly instances?: boolean
  readonly logs?: boolean
  readonly orphans?: boolean
  readonly until?: string
  readonly logTailBytes?: number
  readonly keepFree?: string
  readonly force?: boolean
  readonly dryRun?: boolean
  readonly all?: boolean
}

/** Adds the commands `system df`, `prune` and `compact`. */
export function addSystem(program: Command): void {
  const system = program.command('system').description('show disk usage and reclaim space')
  addDf(system)
  addPrune(system)
  addServerOption(system.command('compact'))
    .addHelpText('after', examples('workspace system compact demo'))
    .description('reclaim space that guests have freed on the disks of stopped virtual machines')
    .argument('[names...]', 'workspaces (default: all)')
    .action(async (names: readonly string[], _options: unknown, command: Command) => {
      const { client, output } = await contextOf(command)
      const query = new URLSearchParams(names.map((name): [string, string] => ['name', name]))
      const path = `/api/system/compact?${query.toString()}`
      const report = await client.postWithProgress<WireCompactReport>(path, undefined, output.progress)
      output.result(report, () => compactTable(report))
      if (report.items.some(({ error }) => error !== undefined)) throw new ExitStatus(1)
    })
}

function addDf(system: Command): void {
  addAllOption(addServerOption(system.command('df')))
    .description('show disk usage of images, workspaces and orphans')
    .option('-v, --verbose', 'also list each image and workspace')
    .option('--cached', "show the server's last report without measuring again")
    .option('--tree', 'draw a bar for each image and workspace, largest first')
    .option('--svg <file>', 'write a treemap of disk usage')
    .addHelpText('after', examples('workspace system df -v', 'workspace system df --svg disk.svg'))
    .action(async (options: DfOptions, command: Command) => {
      const path = `/api/system/df${options.cached === true ? '?cached=true' : ''}`
      const draw = (report: WireDiskReport): Promise<string> => picture(report, options)
      if (options.all === true) {
        const answers = await runOnAllServers((client) => client.get<WireDiskReport>(path))
        const servers = answers.map((each) =>
          'answer' in each
            ? { server_name: each.serverName, usage: each.answer }
            : { server_name: each.serverName, error: each.error },
        )
        if (options.svg !== undefined)
          command.error("error: '--svg' supports a single server; select one with -s")
        const pictures = await sections(answers, draw)
        return outputOf(command).result({ servers }, () => pictures)
      }
      const { client, output } = await contextOf(command)
      const report = await client.getWithProgress<WireDiskReport>(path, output.progress)
      const drawn = await draw(report)
      output.result(report, () => drawn)
    })
}

async function picture(report: WireDiskReport, { tree, svg, verbose }: DfOptions): Promise<string> {
  if (svg !== undefined) {
    const { diskMap } = await import('../disk-picture.ts')
    await writeFile(svg, diskMap(report))
  }
  if (tree !== true) return diskTable(report, verbose === true)
  const { diskBars } = await import('../disk-picture.ts')
  return diskBars(report, process.stdout.columns || COLUMNS)
}

function addPrune(system: Command): void {
  addAllOption(addServerOption(system.command('prune')))
    .description('delete unused data after showing what it is')
    .option('--images', 'delete images that neither the configuration nor a workspace uses')
    .option('--instances', 'delete workspaces that have been stopped for a long time')
    .option('--orphans', 'delete leftovers of interrupted operations')
    .option('--logs', 'truncate console logs to their last bytes; never done by default')
    .option('--until <duration>', 'minimum time since a workspace was stopped; 0s for any (default: 72h)')
    .option('--log-tail-bytes <n>', 'number of bytes to keep of a log (default: 5 MiB)', wholeNumber)
    .option('--keep-free <share>', 'delete the oldest first until this much is free: 20%, 50GiB')
    .option('--force', 'do not ask for confirmation')
    .option('--dry-run', 'show what would be deleted')
    .addHelpText(
      'after',
      '\nThe default scope is images, instances and orphans. Non-interactive use requires --json --force.\n' +
        examples('workspace system prune --dry-run', 'workspace system prune --json --force --keep-free 20%'),
    )
    .action(async (options: PruneOptions, command: Command) => {
      const isInteractive = process.stdin.isTTY && process.stdout.isTTY
      const { json }: { json?: boolean } = command.optsWithGlobals()
      const isPrompting = isInteractive && json !== true
      if (options.dryRun !== true && !isPrompting && !(json === true && options.force === true))
        command.error(
          "error: cannot ask for confirmation without a terminal: use '--json --force' to delete or '--json --dry-run' to preview",
        )
      const work = (client: WorkspaceClient) => client.post<WirePruneReport>(planPath(options))
      if (options.all === true) return pruneAll(await runOnAllServers(work), options, command, isPrompting)
      const { client, output, server } = await contextOf(command)
      const answer = { serverName: server.name, client, answer: await work(client) }
      const [done] = await applyPlans([answer], options, command, isPrompting)
      if (done !== undefined && 'answer' in done) {
        output.result(done.answer, () => pruneTable(done.answer))
        if (done.answer.items.some(({ action }) => action === 'failed')) throw new ExitStatus(1)
      } else if (done !== undefined) throw new Error(done.error)
    })
}

function planPath({ images, instances, orphans, logs, until, logTailBytes, keepFree }: PruneOptions): string {
  const scopes = Object.entries({ images, instances, orphans, logs })
    .filter(([, isWanted]) => isWanted === true)
    .map(([scope]): [string, string] => ['scope', scope])
  const query = new URLSearchParams([...scopes, ['dry_run', 'true']])
  if (until !== undefined) query.set('until', until)
  if (logTailBytes !== undefined) query.set('log_tail_bytes', String(logTailBytes))
  if (keepFree !== undefined) query.set('keep_free', keepFree)
  return `/api/system/prune?${query.toString()}`
}

/** Prunes all servers. One that is offline or does not support pruning is part of the output; the command still succeeds. */
async function pruneAll(
  plans: readonly ServerAnswer<WirePruneReport>[],
  options: PruneOptions,
  command: Command,
  isPrompting: boolean,
): Promise<void> {
  const done = await applyPlans(plans, options, command, isPrompting)
  const servers = done.map((each) =>
    'answer' in each
      ? { server_name: each.serverName, result: each.answer }
      : { server_name: each.serverName, error: each.error },
  )
  const tables = await sections(done, (report) => Promise.resolve(pruneTable(report)))
  outputOf(command).result({ servers }, () => tables)
}

/** Applies the plans once the user confirms; returns them unchanged for a dry run. */
async function applyPlans(
  plans: readonly ServerAnswer<WirePruneReport>[],
  options: PruneOptions,
  command: Command,
  isPrompting: boolean,
): Promise<readonly ServerAnswer<WirePruneReport>[]> {
  const items = plans.flatMap((plan) => ('answer' in plan ? plan.answer.items : []))
  if (options.dryRun === true || items.length === 0) return plans
  if (isPrompting) {
    const tables = await sections(plans, (plan) => Promise.resolve(pruneTable(plan)))
    const [single] = plans
    const shown = plans.length === 1 && single && 'answer' in single ? pruneTable(single.answer) : tables
    outputOf(command).result({}, () => shown)
    if (options.force !== true && !(await isConfirmed(items))) {
      process.stderr.write('canceled; nothing was deleted\n')
      throw new ExitStatus(1)
    }
  }
  const { progress } = outputOf(command)
  return Promise.all(
    plans.map(async (plan): Promise<ServerAnswer<WirePruneReport>> => {
      if (!('answer' in plan) || plan.answer.items.length === 0) return plan
      const path = `/api/system/prune?plan_id=${encodeURIComponent(plan.answer.plan_id)}`
      try {
        return { ...plan, answer: await plan.client.postWithProgress(path, undefined, progress) }
      } catch (error) {
        if (plans.length === 1) throw error
        return { serverName: plan.serverName, error: String(error) }
      }
    }),
  )
}

async function isConfirmed(items: WirePruneReport['items']): Promise<boolean> {
  const bytes = items.reduce((total, { freed }) => total + freed.physical_bytes, 0)
  const question = `Delete ${items.length === 1 ? 'this item' : `these ${items.length} items`} and free ${formatBytes(bytes)}?`
  return confirm(question)
}

/** Formats each server's answer, or why there is none, below the server's name. */
async function sections<T>(
  answers: readonly ServerAnswer<T>[],
  show: (answer: T) => Promise<string>,
): Promise<string> {
  const parts = answers.map(async (each) => {
    const text = 'answer' in each ? await show(each.answer) : `error: ${each.error}`
    return `${each.serverName}\n${text}`
  })
  return (await Promise.all(parts)).join('\n\n')
}
