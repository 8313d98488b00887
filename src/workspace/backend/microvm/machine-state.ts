import { messageOf } from '../../../lib/errors/message.ts'
import { limitsFromWire } from '../../network/narrow.ts'
import type { Workspace, WorkspaceState } from '../../workspace.ts'
import type { BackendName } from '../../backend-name.ts'
import type { MachineFiles } from './files/machine-files.ts'
import { isRunning } from './monitor/machine-process.ts'
import type { Metadata, MetadataReading } from './files/metadata.ts'

/** Derives a VM's state from its metadata and its processes. */
async function stateOf({ run, failure, memory }: Metadata, hostBoot: string): Promise<WorkspaceState> {
  if (run === null && memory != null) return { is: 'suspended' }
  // The host has rebooted, and everything that ran on it stopped.
  if (run !== null && run.hostBoot !== hostBoot) return { is: 'stopped' }
  if (run === null) return failure === '' ? { is: 'stopped' } : { is: 'error', message: failure }
  const [monitor] = run.processes
  if (monitor === undefined || !(await isRunning(monitor)))
    return { is: 'error', message: 'its VM exited unexpectedly; start it again' }
  if (run.isReady) return { is: 'running' }
  return { is: 'error', message: 'the server stopped while starting it; start it again' }
}

/** Returns whether a VM's monitor is running. */
export async function hasMonitor({ run }: Metadata, hostBoot: string): Promise<boolean> {
  const [monitor] = run?.processes ?? []
  return monitor !== undefined && run?.hostBoot === hostBoot && isRunning(monitor)
}

/** Converts a VM to a workspace; undefined for a deleted workspace whose files were kept. */
export async function workspaceOf(
  backend: BackendName,
  files: MachineFiles,
  key: string,
  reading: MetadataReading,
  hostBoot: string,
): Promise<Workspace | undefined> {
  if (reading.is === 'absent') return undefined
  if (reading.is === 'unreadable') return brokenWorkspace(backend, key, reading.why)
  const { record: metadata } = reading
  if (metadata.isKept) return undefined
  const { name, createdAt, image, repo, localDir, forwardPorts, cpus, memoryMb, id, run } = metadata
  const state = await stateOf(metadata, hostBoot)
  const isUp = state.is === 'running'
  return {
    name,
    backend,
    image,
    repo,
    localDir,
    forwardPorts,
    cpus,
    memoryMb,
    state,
    networkLimits: limitsFromWire(metadata.network),
    labels: metadata.labels ?? undefined,
    wakes: metadata.wakes ?? undefined,
    forkedFrom: metadata.forkedFrom ?? undefined,
    createdAt: new Date(createdAt),
    containerId: id,
    ipAddress: isUp ? (run?.ipAddress ?? '') : '',
    pid: isUp ? (run?.processes[0]?.pid ?? 0) : 0,
    rootfsPath: files.upperOf(name),
  }
}

/** Returns a workspace whose metadata is unreadable: it stays until someone deletes it (fault F8). */
function brokenWorkspace(backend: BackendName, key: string, why: string): Workspace {
  const message = `its metadata.json is unreadable (${messageOf(why)}); restore the file, or delete the workspace`
  return {
    name: key,
    backend,
    image: '',
    repo: '',
    localDir: '',
    forwardPorts: [],
    networkLimits: undefined,
    cpus: 0,
    memoryMb: 0,
    createdAt: new Date(0),
    containerId: '',
    ipAddress: '',
    pid: 0,
    rootfsPath: '',
    state: { is: 'error', message },
  }
}
