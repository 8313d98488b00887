import { writeFile } from 'node:fs/promises'
import { createInterface } from 'node:readline/promises'
import type { Command } from 'commander'
import { wholeNumber } from '../../../../lib/cli/arguments.ts'
import { formatBytes } from '../../../../lib/cli/bytes.ts'
import { ExitStatus } from '../../../../lib/cli/run.ts'
import type { WireDiskReport } from '../../../api/disk.ts'
import type { WireCompactReport, WirePruneReport } from '../../../api/prune.ts'
import { allServers, type ServerAnswer } from '../ask-all.ts'
import type { WorkspaceClient } from '../../../client/client.ts'
import { addAllOption, addServerOption, contextOf, outputOf } from '../context.ts'
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

/** system df, prune, compact. */
export function addSystem(program: Command): void {
  const system = program.command('system').description('what is on disk, and less of it')
  addDf(system)
  addPrune(system)
  addServerOption(system.command('compact'))
    .description('give back what guests have freed on the disks of stopped virtual machines')
    .argument('[names...]', 'workspaces; default all')
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
    .description('show what images, workspaces and what is left over take on disk')
    .option('-v, --verbose', 'a line for each image and workspace too')
    .option('--cached', "take the server's last report, at once")
    .option('--tree', 'a bar for each image and workspace, the largest first')
    .option('--svg <file>', 'write a map on which everything has the area that it takes')
    .addHelpText('after', '\nExamples:\n  workspace system df -v\n  workspace system df --svg disk.svg')
    .action(async (options: DfOptions, command: Command) => {
      const path = `/api/system/df${options.cached === true ? '?cached=true' : ''}`
      const draw = (report: WireDiskReport): Promise<string> => picture(report, options)
      if (options.all === true) {
        const answers = await allServers((client) => client.get<WireDiskReport>(path))
        const servers = answers.map((each) =>
          'answer' in each
            ? { server_name: each.serverName, usage: each.answer }
            : { server_name: each.serverName, error: each.error },
        )
        if (options.svg !== undefined) command.error("error: '--svg' draws one server: name it with -s")
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
    .description('delete what nothing needs, after showing what that is')
    .option('--images', 'images that neither the configuration nor a workspace needs')
    .option('--instances', 'workspaces that have been stopped for long')
    .option('--orphans', 'what crashed work has left')
    .option('--logs', 'cut console logs to their end; not without being asked for')
    .option('--until <duration>', 'how long a workspace must have been stopped; 0s: any time (default 72h)')
    .option('--log-tail-bytes <n>', 'what is kept of a log (default 5 MiB)', wholeNumber)
    .option('--keep-free <share>', 'the oldest goes first, until so much is free: 20%, 50GiB')
    .option('--force', 'do not ask')
    .option('--dry-run', 'only show it')
    .addHelpText(
      'after',
      '\nWithout a scope: images, instances and orphans. Where nobody can be asked: --json --force.' +
        '\n\nExamples:\n  workspace system prune --dry-run\n  workspace system prune --json --force --keep-free 20%',
    )
    .action(async (options: PruneOptions, command: Command) => {
      const isInteractive = process.stdin.isTTY && process.stdout.isTTY
      const { json }: { json?: boolean } = command.optsWithGlobals()
      const isAsked = isInteractive && json !== true
      if (options.dryRun !== true && !isAsked && !(json === true && options.force === true))
        command.error(
          "error: nobody can be asked here: use '--json --force' to delete, '--json --dry-run' to look",
        )
      const work = (client: WorkspaceClient) => client.post<WirePruneReport>(planPath(options))
      if (options.all === true) return pruneAll(await allServers(work), options, command, isAsked)
      const { client, output, server } = await contextOf(command)
      const answer = { serverName: server.name, client, answer: await work(client) }
      const [done] = await carryOut([answer], options, command, isAsked)
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

/** Servers that are away, or know no prune, are part of the answer and no failure of the command. */
async function pruneAll(
  plans: readonly ServerAnswer<WirePruneReport>[],
  options: PruneOptions,
  command: Command,
  isAsked: boolean,
): Promise<void> {
  const done = await carryOut(plans, options, command, isAsked)
  const servers = done.map((each) =>
    'answer' in each
      ? { server_name: each.serverName, result: each.answer }
      : { server_name: each.serverName, error: each.error },
  )
  const tables = await sections(done, (report) => Promise.resolve(pruneTable(report)))
  outputOf(command).result({ servers }, () => tables)
}

/** Has plans done that were agreed to; the plans themselves where they are only to be looked at. */
async function carryOut(
  plans: readonly ServerAnswer<WirePruneReport>[],
  options: PruneOptions,
  command: Command,
  isAsked: boolean,
): Promise<readonly ServerAnswer<WirePruneReport>[]> {
  const items = plans.flatMap((plan) => ('answer' in plan ? plan.answer.items : []))
  if (options.dryRun === true || items.length === 0) return plans
  if (isAsked) {
    const tables = await sections(plans, (plan) => Promise.resolve(pruneTable(plan)))
    const [single] = plans
    const shown = plans.length === 1 && single && 'answer' in single ? pruneTable(single.answer) : tables
    outputOf(command).result({}, () => shown)
    if (options.force !== true && !(await isAgreed(items))) {
      process.stderr.write('nothing was deleted\n')
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

async function isAgreed(items: WirePruneReport['items']): Promise<boolean> {
  const bytes = items.reduce((total, { freed }) => total + freed.physical_bytes, 0)
  const question = `Delete ${items.length === 1 ? 'this' : `these ${items.length}`}, ${formatBytes(bytes)}? [y/N] `
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return /^y(?:es)?$/i.test((await terminal.question(question)).trim())
  } finally {
    terminal.close()
  }
}

/** What each server said under its name, or why it said nothing. */
async function sections<T>(
  answers: readonly ServerAnswer<T>[],
  show: (answer: T) => Promise<string>,
): Promise<string> {
  const parts = answers.map(async (each) => {
    const text = 'answer' in each ? await show(each.answer) : `not asked: ${each.error}`
    return `${each.serverName}\n${text}`
  })
  return (await Promise.all(parts)).join('\n\n')
}
