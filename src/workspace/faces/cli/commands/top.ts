import type { Command } from 'commander'
import { setTimeout as delay } from 'node:timers/promises'
import type { Static } from 'typebox'
import { formatBytes } from '../../../../lib/cli/bytes.ts'
import { examples } from '../../../../lib/cli/examples.ts'
import { formatTable } from '../../../../lib/cli/table.ts'
import { ignore } from '../../../../lib/errors/ignore.ts'
import type { WireDiskReport } from '../../../api/disk.ts'
import type { portsSchema } from '../../../api/inside.ts'
import type { usageSchema } from '../../../api/usage.ts'
import type { WireWorkspace } from '../../../api/workspace.ts'
import type { WorkspaceClient } from '../../../client/client.ts'
import { addServerOption, contextOf } from '../context.ts'
import { openScreen } from '../screen.ts'

const EVERY_MS = 2_000
/** CPU usage needs two samples at least a second apart. */
const SAMPLE_MS = 1_100
/** Disk usage and ports are read at every fifth turn, because they cost more. */
const COSTLY_EVERY = 5
const MAX_SHOWN_PORTS = 5

interface Row {
  readonly name: string
  readonly status: string
  readonly cpu_percent: number | null
  readonly memory_bytes: number | null
  readonly disk_bytes: number | null
  readonly ports: readonly number[]
}

interface Now {
  readonly workspaces: readonly WireWorkspace[]
  readonly usages: ReadonlyMap<string, Static<typeof usageSchema>['workspaces'][number]>
}

interface Costly {
  readonly disk: ReadonlyMap<string, number>
  readonly ports: ReadonlyMap<string, readonly number[]>
}

/** Adds the command `top`. */
export function addTop(program: Command): void {
  addServerOption(program.command('top'))
    .description('show CPU, memory, disk and ports of workspaces, live on a terminal')
    .option('--once', 'print the table once, even on a terminal')
    .addHelpText('after', examples('workspace top', 'workspace top --once'))
    .action(async (options: { once?: boolean; json?: boolean }, command: Command) => {
      const { client, output } = await contextOf(command)
      const { json }: { json?: boolean } = command.optsWithGlobals()
      if (process.stdout.isTTY && process.stdin.isTTY && options.once !== true && json !== true)
        return showLive(client)
      // The first sample has no CPU usage.
      await client.get('/api/usage')
      await delay(SAMPLE_MS)
      const now = await readNow(client)
      const rows = rowsOf(now, await readCostly(client, now))
      output.result({ workspaces: rows }, () => table(rows))
    })
}

async function showLive(client: WorkspaceClient): Promise<void> {
  const screen = openScreen()
  try {
    let costly: Costly = { disk: new Map(), ports: new Map() }
    for (let turn = 0; !screen.isClosed; turn++) {
      const now = await readNow(client)
      const show = (): void => screen.show(`${table(rowsOf(now, costly))}\n\nq quits`)
      show()
      if (turn % COSTLY_EVERY === 0) {
        costly = await readCostly(client, now)
        show()
      }
      await Promise.race([screen.closed, delay(EVERY_MS)])
    }
  } finally {
    screen.close()
  }
}

async function readNow(client: WorkspaceClient): Promise<Now> {
  const [{ workspaces }, usage] = await Promise.all([
    client.get<{ workspaces: WireWorkspace[] }>('/api/workspaces'),
    client.get<Static<typeof usageSchema>>('/api/usage'),
  ])
  return { workspaces, usages: new Map(usage.workspaces.map((each) => [each.name, each])) }
}

function rowsOf({ workspaces, usages }: Now, { disk, ports }: Costly): readonly Row[] {
  const rows = workspaces.map(({ name, status }) => ({
    name,
    status,
    cpu_percent: usages.get(name)?.cpu_percent ?? null,
    memory_bytes: usages.get(name)?.memory_bytes ?? null,
    disk_bytes: disk.get(name) ?? null,
    ports: status === 'running' ? (ports.get(name) ?? []) : [],
  }))
  return rows.toSorted((a, b) => (b.cpu_percent ?? -1) - (a.cpu_percent ?? -1))
}

/** Reads disk usage and open ports; what cannot be read is left out. */
async function readCostly(client: WorkspaceClient, { workspaces }: Now): Promise<Costly> {
  const report = await client
    .get<WireDiskReport>('/api/system/df?cached=true')
    .catch(ignore('the column stays empty'))
  const ports = new Map<string, readonly number[]>()
  // One after the other: each starts a program inside.
  for (const { name, status } of workspaces) {
    if (status !== 'running') continue
    const answer = await client
      .get<Static<typeof portsSchema>>(`/api/workspaces/${encodeURIComponent(name)}/ports`)
      .catch(ignore('the column stays empty'))
    ports.set(
      name,
      [...new Set(answer?.ports.map(({ port }) => port))].toSorted((a, b) => a - b),
    )
  }
  const disk = new Map(report?.workspaces.map(({ name, total }) => [name, total.physical_bytes]))
  return { disk, ports }
}

function table(rows: readonly Row[]): string {
  if (rows.length === 0) return 'no workspaces; create one with: workspace create NAME'
  return formatTable(
    ['NAME', 'STATUS', 'CPU', 'MEMORY', 'DISK', 'PORTS'],
    rows.map((row) => [
      row.name,
      row.status,
      orDash(row.cpu_percent, (value) => `${value.toFixed(1)}%`),
      orDash(row.memory_bytes, formatBytes),
      orDash(row.disk_bytes, formatBytes),
      portsCell(row.ports),
    ]),
  )
}

function orDash(value: number | null, format: (value: number) => string): string {
  return value === null ? '–' : format(value)
}

function portsCell(ports: readonly number[]): string {
  const more = ports.length - MAX_SHOWN_PORTS
  return ports.slice(0, MAX_SHOWN_PORTS).join(' ') + (more > 0 ? ` and ${more} more` : '')
}
