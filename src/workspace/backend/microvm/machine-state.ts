import { messageOf } from '../../../lib/errors/message.ts'
import { limitsFromWire } from '../../network/narrow.ts'
import type { Workspace, WorkspaceState } from '../../workspace.ts'
import type { BackendName } from '../../backend-name.ts'
import type { MachineFiles } from './files/machine-files.ts'
import { isRunning } from './monitor/machine-process.ts'
import type { Metadata, MetadataReading } from './files/metadata.ts'

/** Where a machine is in its life, from what is remembered of it and what runs. */
async function stateOf({ run, failure }: Metadata, hostBoot: string): Promise<WorkspaceState> {
  // The host was started anew, and everything that ran on it is gone.
  if (run !== null && run.hostBoot !== hostBoot) return { is: 'stopped' }
  if (run === null) return failure === '' ? { is: 'stopped' } : { is: 'error', message: failure }
  const [monitor] = run.processes
  if (monitor === undefined || !(await isRunning(monitor)))
    return { is: 'error', message: 'its virtual machine ended unexpectedly; start it again' }
  if (run.isReady) return { is: 'running' }
  return { is: 'error', message: 'it was being started when the server ended; start it again' }
}

/** A machine as a workspace; undefined for one that was deleted but for its files. */
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
    createdAt: new Date(createdAt),
    containerId: id,
    ipAddress: isUp ? (run?.ipAddress ?? '') : '',
    pid: isUp ? (run?.processes[0]?.pid ?? 0) : 0,
    rootfsPath: files.upperOf(name),
  }
}

/** One of which nothing is known but that it is there: it stays until someone deletes it (fault F8). */
function brokenWorkspace(backend: BackendName, key: string, why: string): Workspace {
  const message = `its metadata.json cannot be used (${messageOf(why)}): restore the file, or delete the workspace`
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
