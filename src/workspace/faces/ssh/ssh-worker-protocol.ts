import type { FaultKind } from '../../../lib/errors/fault.ts'
import type { BackendName } from '../../backend-name.ts'
import type { Login, LoginRefusal } from './authenticate.ts'
import type { LoginName } from './workspace-resolver.ts'

/** Settings of a worker process. */
export interface WorkerSettings {
  readonly privateKey: string
  readonly authorizedKeys: string | undefined
  readonly deniedPorts: readonly number[]
  readonly logLevel: string
  readonly docker: { readonly host: string | undefined; readonly network: string | undefined }
  readonly serverId: string
  /** Directories with the files and sockets of each virtual machine backend. */
  readonly machines: readonly {
    readonly backend: BackendName
    readonly root: string
    readonly runDir: string
  }[]
  /** The cluster whose pods are entered; undefined for none. */
  readonly kubernetes: { readonly kubeconfig: string | undefined; readonly namespace: string } | undefined
  /** Parent of the socket directories mounted into workspaces. */
  readonly mountedSocketDirs: string
}

/** A message from the server to a worker; `serve` carries a socket. */
export type WorkerCommand =
  /** A message, not an argument: the settings hold the private key, and the process list shows arguments. */
  | { readonly do: 'start'; readonly settings: WorkerSettings }
  | { readonly do: 'serve'; readonly connection: number }
  | { readonly do: 'drop'; readonly connection: number }
  | { readonly do: 'stop' }
  | { readonly do: 'resolved'; readonly request: number; readonly result: ResolveResult }

/** The server's answer when a worker asks which workspace a user may enter. */
export type ResolveResult =
  | { readonly is: 'found'; readonly backend: BackendName; readonly name: string }
  | { readonly is: 'failed'; readonly code: string; readonly kind: FaultKind; readonly message: string }

/** A message from a worker to the server. */
export type WorkerReport =
  /** It has the socket of a connection. */
  | { readonly is: 'received'; readonly connection: number }
  | { readonly is: 'proven'; readonly connection: number; readonly login: Login }
  | { readonly is: 'refused'; readonly connection: number; readonly refusal: LoginRefusal }
  | { readonly is: 'entry'; readonly connection: number; readonly code: string | undefined }
  | { readonly is: 'closed'; readonly connection: number }
  | { readonly is: 'resolve'; readonly request: number; readonly login: LoginName }
  | { readonly is: 'log'; readonly line: string }
