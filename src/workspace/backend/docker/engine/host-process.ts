import { readFile } from 'node:fs/promises'

/**
 * Whether a process id that the engine reported for a container is that container's process on this machine. Another
 * machine's engine, or a virtual machine's, reports ids that mean someone else here.
 */
export async function isHostProcess(pid: number, containerId: string): Promise<boolean> {
  if (!(pid > 1)) return false
  const controlGroups = await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '')
  return controlGroups.includes(containerId)
}
