import type { BackendName } from './backend-name.ts'
import type { NetworkLimits } from './network/narrow.ts'

/** Where a workspace's files are inside it, whatever the backend. */
export const WORKSPACE_DIR = '/workspace'

/** Where a workspace is in its life. Asked-for transitions: `lifecycle/lifecycle.ts`; the others: `lifecycle/table.ts`. */
export type WorkspaceState =
  | { readonly is: 'starting' }
  | { readonly is: 'running' }
  | { readonly is: 'stopped' }
  | { readonly is: 'error'; readonly message: string }

/** One isolated development environment, as the server knows it. */
export interface Workspace {
  readonly name: string
  readonly backend: BackendName
  readonly state: WorkspaceState
  readonly createdAt: Date
  /** Cloned at creation; '' when none was. */
  readonly repo: string
  /** Host directory mounted as the workspace; '' when its files live on a volume of their own. */
  readonly localDir: string
  /** The image it was made from, as asked for. */
  readonly image: string
  /** The backend's identifier; '' until the backend has made it. */
  readonly containerId: string
  readonly ipAddress: string
  /** Of the virtual machine on the host; 0 where there is none. */
  readonly pid: number
  /** The disk of its own; '' where it has none. */
  readonly rootfsPath: string
  /** 0 means no limit. */
  readonly cpus: number
  readonly memoryMb: number
  /** Ports inside that its devcontainer.json wants reachable from where its user sits. */
  readonly forwardPorts: readonly number[]
  /** The most that it may reach; undefined for all that its server's policy allows. */
  readonly networkLimits?: NetworkLimits | undefined
}
