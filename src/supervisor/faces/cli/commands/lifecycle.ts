import { setTimeout as delay } from 'node:timers/promises'
import type { Command } from 'commander'
import { examples } from '../../../../lib/cli/examples.ts'
import { formatRecord } from '../../../../lib/cli/table.ts'
import type { ReloadResult } from '../../../process/process-table.ts'
import { contextOf, type SupervisorClient } from '../client.ts'

const LOOK_EVERY_MS = 50
const LIMIT_MS = 60_000

/** Adds `reload` and `down`. */
export function addLifecycle(program: Command): void {
  program
    .command('reload')
    .description('apply changes of the configuration; unchanged processes are not touched')
    .addHelpText('after', examples('supervisor config check && supervisor reload'))
    .action(async (_options: unknown, command: Command) => {
      const { client, output } = await contextOf(command)
      const answer = await client.post<ReloadResult & { readonly warnings: readonly string[] }>('/reload')
      for (const warning of answer.warnings) process.stderr.write(`supervisor: ${warning}\n`)
      output.result(answer, () => describe(answer))
    })
  program
    .command('down')
    .description('stop all processes and the supervisor')
    .addHelpText('after', examples('supervisor down'))
    .action(async (_options: unknown, command: Command) => {
      const { client, output } = await contextOf(command)
      await client.post('/shutdown')
      await untilGone(client)
      output.result({ success: true }, () => 'supervisor stopped')
    })
}

/** Waits until the supervisor, which responds with SHUTDOWN_IN_PROGRESS during shutdown, has exited. */
async function untilGone(client: SupervisorClient): Promise<void> {
  const endMs = performance.now() + LIMIT_MS
  while (performance.now() < endMs) {
    const answer = await client.get('/status').catch((error: { code?: string }) => error.code)
    if (answer === 'SUPERVISOR_UNREACHABLE') return
    await delay(LOOK_EVERY_MS)
  }
  throw new Error(`the supervisor at ${client.url} did not stop within ${LIMIT_MS / 1_000} s`)
}

function describe({ added, removed, changed, unchanged }: ReloadResult): string {
  return formatRecord([
    ['added', added.join(', ') || '-'],
    ['removed', removed.join(', ') || '-'],
    ['changed', changed.join(', ') || '-'],
    ['unchanged', String(unchanged)],
  ])
}
