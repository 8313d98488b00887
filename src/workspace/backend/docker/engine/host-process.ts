import { ignore } from '../../../../lib/errors/ignore.ts'
import { readFile } from 'node:fs/promises'

/**
 * Returns whether a process id that the engine reported for a container is that container's process on this
 * machine. The engine of another machine or of a VM reports ids that belong to unrelated processes here.
 */
export async function isHostProcess(pid: number, containerId: string): Promise<boolean> {
  if (!(pid > 1)) return false
  const controlGroups = await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(
    ignore('it has exited, or this is another machine', ''),
  )
  return controlGroups.includes(containerId)
}
