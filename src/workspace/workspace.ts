import type { BackendName } from './backend-name.ts'
import type { NetworkLimits } from './network/narrow.ts'
import type { WorkspaceSettings } from './workspace-settings.ts'

/** Directory of a workspace's files inside it, for every backend. */
export const WORKSPACE_DIR = '/workspace'
/** The image of containers created without one, which set-up builds and no registry has. */
export const BASE_IMAGE = 'workspace-base:1'

/**
 * State of a workspace. Requested transitions: `lifecycle/lifecycle.ts`; the others: `lifecycle/table.ts`.
 */
export type WorkspaceState =
  | { readonly is: 'starting' }
  | { readonly is: 'running' }
  | { readonly is: 'stopped' }
  /** Not running, with its memory saved. */
  | { readonly is: 'suspended' }
  | { readonly is: 'error'; readonly message: string }

/** A change to a workspace. */
export type WorkspaceChange =
  | { readonly type: 'created' | 'changed'; readonly workspace: Workspace }
  | { readonly type: 'deleted'; readonly name: string }

/** An isolated development environment as seen by the server. */
export interface Workspace extends WorkspaceSettings {
  readonly name: string
  readonly backend: BackendName
  readonly state: WorkspaceState
  readonly createdAt: Date
  /** Repository cloned at creation; '' for none. */
  readonly repo: string
  /** Host directory mounted as the workspace; '' when its files are on a separate volume. */
  readonly localDir: string
  /** The image it was created from, as requested. */
  readonly image: string
  /** The backend's identifier; '' until the backend has created it. */
  readonly containerId: string
  readonly ipAddress: string
  /** PID of the VM on the host; 0 for none. */
  readonly pid: number
  /** Path of its disk; '' for none. */
  readonly rootfsPath: string
  /** 0 means no limit. */
  readonly cpus: number
  readonly memoryMb: number
  /** Ports inside that its devcontainer.json forwards to the user's machine. */
  readonly forwardPorts: readonly number[]
  /** Network limits; undefined for everything the server's policy allows. */
  readonly networkLimits?: NetworkLimits | undefined
  /** The workspace that it was forked from, which may no longer exist; undefined for none. */
  readonly forkedFrom?: string | undefined
  /** Why its settings are unknown; the server then never stops or deletes it on its own. */
  readonly settingsError?: string | undefined
}
