import type { Command } from 'commander'
import { examples } from '../../../../lib/cli/examples.ts'
import { formatTable } from '../../../../lib/cli/table.ts'
import type { WireSummary } from '../../../api/process.ts'
import { formatUptime } from '../../../api/uptime.ts'
import { contextOf } from '../client.ts'
import { addWhy } from './why.ts'

/** Adds `ps`, `why`, `start`, `stop` and `restart`. */
export function addProcesses(program: Command): void {
  program
    .command('ps')
    .description('list the processes')
    .addHelpText('after', examples('supervisor ps --json'))
    .action(async (_options: unknown, command: Command) => {
      const { client, output } = await contextOf(command)
      const answer = await client.get<{ processes: readonly WireSummary[] }>('/processes')
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
    .argument('<names...>', 'names of processes')
    .addHelpText('after', examples(`supervisor ${name} web worker`))
    .action(async (names: readonly string[], _options: unknown, command: Command) => {
      const { client, output } = await contextOf(command)
      for (const each of names) {
        const answer = await client.post(`/processes/${encodeURIComponent(each)}/${name}`)
        output.line({ name: each, ...(answer as object) }, () => `${each} is ${done}`)
      }
    })
}

function processTable(processes: readonly WireSummary[]): string {
  return formatTable(
    ['NAME', 'STATUS', 'PID', 'UPTIME', 'RESTARTS', 'HEALTH', 'WHY'],
    processes.map(({ name, status, pid, uptime_seconds: uptime, restarts, health, reason }) => [
      name,
      status,
      pid === 0 ? '-' : String(pid),
      pid === 0 ? '-' : formatUptime(uptime),
      String(restarts),
      health,
      reason,
    ]),
  )
}
