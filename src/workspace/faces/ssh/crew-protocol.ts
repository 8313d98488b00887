import type { FaultKind } from '../../../lib/errors/fault.ts'
import type { BackendName } from '../../backend-name.ts'
import type { Login, LoginRefusal } from './authenticate.ts'

/** What a child process needs to speak SSH by itself. */
export interface ChildSettings {
  readonly privateKey: string
  readonly authorizedKeys: string | undefined
  readonly deniedPorts: readonly number[]
  readonly logLevel: string
  readonly docker: { readonly host: string | undefined; readonly network: string | undefined }
  readonly serverId: string
  /** Where the files and the sockets of each kind of virtual machine are. */
  readonly machines: readonly {
    readonly backend: BackendName
    readonly root: string
    readonly runDir: string
  }[]
  /** Where the directories are that workspaces have mounted. */
  readonly mountedSocketDirs: string
}

/** From the front process to a child; a socket comes with `serve`. */
export type Order =
  /** By message and not as an argument: it holds the private key, and arguments stand in the process list. */
  | { readonly do: 'begin'; readonly settings: ChildSettings }
  | { readonly do: 'serve'; readonly connection: number }
  | { readonly do: 'drop'; readonly connection: number }
  | { readonly do: 'stop' }
  | { readonly do: 'entered'; readonly question: number; readonly entry: Entry }

/** The front process's answer to a child that asks whether a user may enter. */
export type Entry =
  | { readonly is: 'open'; readonly backend: BackendName; readonly name: string }
  | { readonly is: 'closed'; readonly code: string; readonly kind: FaultKind; readonly message: string }

/** From a child to the front process. */
export type Report =
  | { readonly is: 'proven'; readonly connection: number; readonly login: Login }
  | { readonly is: 'refused'; readonly connection: number; readonly refusal: LoginRefusal }
  | { readonly is: 'entry'; readonly connection: number; readonly code: string | undefined }
  | { readonly is: 'closed'; readonly connection: number }
  | { readonly is: 'enter'; readonly question: number; readonly user: string }
  | { readonly is: 'log'; readonly line: string }
