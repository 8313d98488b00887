import type { Command } from 'commander'
import { examples } from '../../../../lib/cli/examples.ts'
import { formatTable } from '../../../../lib/cli/table.ts'
import type { WireSummary } from '../../../api/process.ts'
import { formatUptime } from '../../../api/uptime.ts'
import { contextOf } from '../client.ts'
import { addWhy } from './why.ts'

interface GroupOption {
  readonly group?: string
}

interface GroupAnswer {
  readonly success: boolean
  readonly processes: readonly string[]
}

/** Adds `ps`, `why`, `start`, `stop` and `restart`. */
export function addProcesses(program: Command): void {
  program
    .command('ps')
    .description('list the processes')
    .option('-g, --group <name>', 'only processes of this group')
    .addHelpText('after', examples('supervisor ps --json', 'supervisor ps --group backend'))
    .action(async ({ group }: GroupOption, command: Command) => {
      const { client, output } = await contextOf(command)
      const query = group === undefined ? '' : `?group=${encodeURIComponent(group)}`
      const answer = await client.get<{ processes: readonly WireSummary[] }>(`/processes${query}`)
      output.result(answer, () => processTable(answer.processes, Date.now()))
    })
  addWhy(program)
  addAction(program, 'start', 'start processes and their dependencies', 'started')
  addAction(program, 'stop', 'stop processes and everything they started', 'stopped')
  addAction(program, 'restart', 'stop and start processes', 'restarted')
}

function addAction(program: Command, name: string, description: string, done: string): void {
  program
    .command(name)
    .description(description)
    .argument('[names...]', 'names of processes')
    .option('-g, --group <name>', 'all processes of this group')
    .addHelpText('after', examples(`supervisor ${name} web worker`, `supervisor ${name} --group backend`))
    .action(async (names: readonly string[], { group }: GroupOption, command: Command) => {
      if (names.length === 0 && group === undefined)
        command.error("error: missing argument 'names', or option '--group <name>'")
      const { client, output } = await contextOf(command)
      if (group !== undefined) {
        const path = `/groups/${encodeURIComponent(group)}/${name}`
        const { processes, ...answer } = await client.post<GroupAnswer>(path)
        for (const each of processes) output.line({ name: each, ...answer }, () => `${each} is ${done}`)
      }
      for (const each of names) {
        const answer = await client.post(`/processes/${encodeURIComponent(each)}/${name}`)
        output.line({ name: each, ...(answer as object) }, () => `${each} is ${done}`)
      }
    })
}

/** Formats processes as a table, with columns for groups and schedules if any process has one. */
export function processTable(processes: readonly WireSummary[], nowMs: number): string {
  const columns: readonly (readonly [string, (process: WireSummary) => string])[] = [
    ['NAME', ({ name }) => name],
    ['GROUPS', ({ groups }) => groups.join(', ') || NONE],
    ['STATUS', ({ status }) => status],
    ['PID', ({ pid }) => (pid === 0 ? NONE : String(pid))],
    ['UPTIME', ({ pid, uptime_seconds: uptime }) => (pid === 0 ? NONE : formatUptime(uptime))],
    ['RESTARTS', ({ restarts }) => String(restarts)],
    ['HEALTH', ({ health }) => health],
    ['NEXT RUN', ({ next_run: nextRun }) => (nextRun === null ? NONE : `in ${timeUntil(nextRun, nowMs)}`)],
    ['WHY', ({ reason }) => reason],
  ]
  const shown = columns.filter(
    ([heading, cell]) => !OPTIONAL.has(heading) || processes.some((each) => cell(each) !== NONE),
  )
  return formatTable(
    shown.map(([heading]) => heading),
    processes.map((process) => shown.map(([, cell]) => cell(process))),
  )
}

const NONE = '-'
const OPTIONAL = new Set(['GROUPS', 'NEXT RUN'])

function timeUntil(time: string, nowMs: number): string {
  return formatUptime(Math.max(0, Math.ceil((Date.parse(time) - nowMs) / 1_000)))
}
