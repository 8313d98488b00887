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
      output.result(answer, () => processTable(answer.processes))
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

function processTable(processes: readonly WireSummary[]): string {
  const hasGroups = processes.some(({ groups }) => groups.length > 0)
  return formatTable(
    ['NAME', ...(hasGroups ? ['GROUPS'] : []), 'STATUS', 'PID', 'UPTIME', 'RESTARTS', 'HEALTH', 'WHY'],
    processes.map(({ name, groups, status, pid, uptime_seconds: uptime, restarts, health, reason }) => [
      name,
      ...(hasGroups ? [groups.join(', ') || '-'] : []),
      status,
      pid === 0 ? '-' : String(pid),
      pid === 0 ? '-' : formatUptime(uptime),
      String(restarts),
      health,
      reason,
    ]),
  )
}
