import { readFile } from 'node:fs/promises'
import { ignore } from '../../../../lib/errors/ignore.ts'
import { readProcStat, TICK_MS } from '../../../../lib/process/proc-stat.ts'
import type { Workspace } from '../../../workspace.ts'
import type { Load } from '../../backend.ts'

/**
 * Returns the load of each VM's monitor, which includes its guest, by VM id; empty on systems without /proc.
 */
export async function readMachineLoads(machines: readonly Workspace[]): Promise<ReadonlyMap<string, Load>> {
  const read = await Promise.all(
    machines.map(async ({ containerId, pid }) => [containerId, await readMachineLoad(pid)] as const),
  )
  return new Map(read.flatMap(([id, load]) => (load === undefined ? [] : [[id, load] as const])))
}

async function readMachineLoad(pid: number): Promise<Load | undefined> {
  if (pid <= 0) return undefined
  const stat = readProcStat(pid)
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(ignore('it has exited', ''))
  const residentKib = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]
  if (stat === undefined || residentKib === undefined) return undefined
  return { cpuMs: stat.cpuTicks * TICK_MS, memoryBytes: Number(residentKib) * 1024 }
}
