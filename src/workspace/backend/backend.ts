import type { Bytes } from '../bytes.ts'
import type { Duplex, Readable, Writable } from 'node:stream'
import type { NetworkLimits } from '../network/narrow.ts'
import type { Workspace } from '../workspace.ts'
import type { BackendName } from '../backend-name.ts'
import type { Snapshots } from './snapshot.ts'

/** What a backend needs to make a workspace. Everything has been checked. */
export interface BackendCreate {
  readonly name: string
  readonly createdAt: Date
  readonly image: string
  readonly repo: string
  readonly localDir: string
  readonly forwardPorts: readonly number[]
  /** The most that it may reach, below its server's policy. */
  readonly networkLimits?: NetworkLimits | undefined
  /** Whether its volume may hold files of another workspace, made from another image. */
  readonly adoptsFiles: boolean
  /** For every program in the workspace, beside what its image sets. */
  readonly environment: Readonly<Record<string, string>>
  readonly cpus: number
  readonly memoryMb: number
  /** Size of the disk of its own, where it has one; 0 for the backend's default. */
  readonly upperBytes: number
  /** The snapshot that its disk is to be a copy of; '' for none. Its image and repository are then the snapshot's. */
  readonly fromSnapshot: string
}

export interface ExecRequest {
  /** Program and arguments; not a shell line. */
  readonly argv: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  /** Defaults to the workspace's own user, from its image. */
  readonly user?: string
  /** Given when the program wants a terminal; its output then comes on `stdout` alone. */
  readonly terminal?: { readonly columns: number; readonly rows: number }
  /** Whether the program reads standard input; default true. */
  readonly stdin?: boolean
}

/** A program running inside a workspace. */
export interface ExecProcess {
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
  /** How the program ended, once it has and what it wrote has arrived; what it left running may write on. */
  readonly exitStatus: Promise<ExitStatus>
  readonly resize: (columns: number, rows: number) => void
  /** Signals the program's process group; false where the backend cannot reach it. */
  readonly signal: (name: NodeJS.Signals) => Promise<boolean>
  /** Gives up on the program: its group gets SIGHUP and the streams are destroyed. */
  readonly hangUp: () => Promise<void>
}

/** How a program ended. */
export interface ExitStatus {
  /** 128 + n when signal n ended it. */
  readonly status: number
  /** The signal that ended it, where the backend can tell that from a status of the same number. */
  readonly signal?: NodeJS.Signals
  readonly hasDumpedCore?: boolean
}

/** A socket inside a workspace that the server listens on. */
export interface InsideListener {
  /** Where programs in the workspace find it. */
  readonly path: string
  /** Takes the socket away and ends its connections. */
  readonly close: () => Promise<void>
}

/** How the workspace's user logs in. */
export interface LoginEnvironment {
  readonly user: string
  /** The user's number inside the workspace. */
  readonly userId: number
  readonly home: string
  readonly shell: string
}

/** What a running workspace uses of the machine. */
export interface Load {
  /** CPU time since it was started. */
  readonly cpuMs: number
  readonly memoryBytes: number
}

/** What a backend has on disk. */
export interface BackendUsage {
  readonly images: readonly ImagePart[]
  /** By workspace name: its own files, and the volume they work on. Also those of workspaces deleted but for their files. */
  readonly workspaces: ReadonlyMap<string, readonly UsagePart[]>
  readonly snapshots: readonly ImagePart[]
  /** What is not told, in sentences. */
  readonly notes: readonly string[]
}

/** A connection that a guest made to its host. */
export interface GuestCaller {
  readonly workspace: string
  readonly token: string
  readonly connection: Duplex
}

/** A file or directory that is yet to be measured, unless its keeper says what it takes. */
export interface MeasuredPart {
  readonly path: string
  readonly size?: Bytes
}

export interface ImagePart extends MeasuredPart {
  readonly name: string
  /** '' for none. */
  readonly dockerRef: string
}

export interface UsagePart extends MeasuredPart {
  readonly kind: 'rootfs' | 'volume' | 'console_log' | 'metadata'
}

/**
 * One way of running workspaces. All methods fail with BACKEND_UNAVAILABLE when the engine does not answer and with
 * BACKEND_ERROR when it refuses; none of them checks states, which is the lifecycle's work.
 */
export interface Backend {
  readonly name: BackendName
  /** Whether the engine answered when last asked. */
  readonly isAvailable: boolean
  /** Why it does not, where that is known. */
  readonly whyUnavailable?: string | undefined
  /** Connects and from then on tells of changes; returns once the engine answered or proved absent. */
  readonly open: (onChange: (change: BackendChange) => void) => Promise<void>
  readonly close: () => Promise<void>
  /** Every workspace of this server that the engine holds. */
  readonly list: () => Promise<readonly Workspace[]>
  /** Undefined when the engine holds no such workspace. */
  readonly find: (name: string) => Promise<Workspace | undefined>
  /** Whether files of an earlier workspace of this name are still there, to be adopted by a new one. */
  readonly hasVolume: (name: string) => Promise<boolean>
  readonly create: (
    request: BackendCreate,
    progress: (message: string) => void,
    signal: AbortSignal,
  ) => Promise<Workspace>
  readonly start: (name: string) => Promise<Workspace>
  readonly stop: (name: string) => Promise<Workspace>
  /** Makes a stopped workspace as its image is; only where it has a disk of its own above the image. */
  readonly reset?: (name: string) => Promise<Workspace>
  /** Only where workspaces have such disks. */
  readonly snapshots?: Snapshots
  /** Removes the workspace if it is there, and its volume unless told to keep it. */
  readonly remove: (name: string, keepVolume: boolean) => Promise<void>
  readonly exec: (name: string, request: ExecRequest) => Promise<ExecProcess>
  /** Connects to a port on the loopback address inside the workspace. @throws CONNECT_FAILED */
  readonly dial: (name: string, port: number) => Promise<Duplex>
  /** Whether `listenInside` can be expected to work. */
  readonly canListenInside: (name: string) => boolean
  /**
   * Makes a Unix socket that programs of the workspace's own user can connect to, and no others. Connections are half-open
   * when one side has ended.
   */
  readonly listenInside: (name: string, onConnection: (connection: Duplex) => void) => Promise<InsideListener>
  readonly loginEnvironment: (name: string) => Promise<LoginEnvironment>
  readonly usage: () => Promise<BackendUsage>
  /**
   * By `containerId`, what running workspaces use; of those alone of which it can be told. Meant to be asked every other second
   * about hundreds: it reads what the kernel says, and asks no engine.
   */
  readonly loads: (running: readonly Workspace[]) => Promise<ReadonlyMap<string, Load>>
  /**
   * Hears of every connection that a guest makes to this vsock port of its host's, from `open` on; only where workspaces can make
   * some. Whose it is, is known by where it came in, and the token is what that guest's agent alone has been told.
   */
  readonly listenGuests?: (port: number, onConnection: (caller: GuestCaller) => void) => void
  /** The last lines that the container's own process or the machine's console printed, of one that does not run too. */
  readonly logs: (name: string, lines: number) => Promise<readonly string[]>
  /** When something was last done to a stopped workspace; throws where that cannot be told. */
  readonly changedAt: (name: string) => Promise<Date>
}

/** What of a backend enters running workspaces: all that those need who speak SSH. */
export type BackendInside = Pick<
  Backend,
  'exec' | 'dial' | 'canListenInside' | 'listenInside' | 'loginEnvironment'
>

/**
 * `changed`: one workspace may have another state now. `outOfMemory`: a program in it was killed for want of memory; the
 * workspace itself goes on unless `changed` follows. `rebooting`: it has ended and asks to be started again. `away`: the engine does not answer any more. `resync`: it does again,
 * and anything may have happened meanwhile.
 */
export type BackendChange =
  | { readonly is: 'changed' | 'rebooting' | 'outOfMemory'; readonly name: string }
  | { readonly is: 'away' }
  | { readonly is: 'resync' }
