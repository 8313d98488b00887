import type { Bytes } from '../bytes.ts'
import type { Duplex, Readable, Writable } from 'node:stream'
import type { WorkspaceLabels } from '../labels.ts'
import type { NetworkLimits } from '../network/narrow.ts'
import type { Phase } from '../timeline/phase.ts'
import type { Workspace } from '../workspace.ts'
import type { BackendName } from '../backend-name.ts'
import type { Checkpoints } from './checkpoint.ts'
import type { Forks } from './fork.ts'
import type { ImageBuilds } from './image-builds.ts'
import type { Snapshots } from './snapshot.ts'
import type { Outcome } from './trouble.ts'

/** Input for creating a workspace. All fields have been validated. */
export interface BackendCreate {
  readonly name: string
  readonly createdAt: Date
  readonly image: string
  readonly repo: string
  readonly localDir: string
  readonly forwardPorts: readonly number[]
  /** Network limits that narrow the server's policy. */
  readonly networkLimits?: NetworkLimits | undefined
  readonly labels?: WorkspaceLabels | undefined
  /** Whether a connection to it starts it; undefined for the server's default. */
  readonly wakes?: boolean | undefined
  /** Reports that a phase of the creation begins. */
  readonly enterPhase?: ((phase: Phase) => void) | undefined
  /** Reports something that the user should know after the creation. */
  readonly warn?: ((message: string) => void) | undefined
  /** Whether its volume may contain files of an earlier workspace, created from a different image or for another user. */
  readonly adoptsFiles: boolean
  /** User of its programs, by name or number; the image's if absent, or with a warning if the image has no such user. */
  readonly user?: string | undefined
  /** Whether the server built its image, which nobody else may use. */
  readonly isBuilt?: boolean
  /** For a container that only builds an image: directories that are empty, instead of the workspace's files. */
  readonly emptyDirs?: readonly string[]
  /** Environment of every program in the workspace, in addition to the image's. */
  readonly environment: Readonly<Record<string, string>>
  /** Variables that it does not take over from a snapshot that has them with these values. */
  readonly foreignEnvironment?: Readonly<Record<string, string>> | undefined
  readonly cpus: number
  readonly memoryMb: number
  /** Size of its disk in bytes, for backends that have one; 0 for the backend's default. */
  readonly upperBytes: number
  /** The snapshot to copy its disk from; '' for none. Image and repository are then the snapshot's. */
  readonly fromSnapshot: string
  /** The copy of another workspace's files to create it from, and that workspace's name. */
  readonly fork?: { readonly origin: string; readonly from: string } | undefined
}

/** A program to run inside a workspace. */
export interface ExecRequest {
  /** Program and arguments; not a shell line. */
  readonly argv: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  /** Defaults to the image's user. */
  readonly user?: string
  /** Defaults to the workspace's directory; another one only where an image is built. */
  readonly directory?: string
  /** Terminal size, set when the program needs a terminal; all output then arrives on `stdout`. */
  readonly terminal?: { readonly columns: number; readonly rows: number }
  /** Whether the program reads standard input; defaults to true. */
  readonly stdin?: boolean
}

/** A program running inside a workspace. */
export interface ExecProcess {
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
  /**
   * Resolves once the program has exited and its output has arrived; its background children may still write.
   */
  readonly exitStatus: Promise<ExitStatus>
  readonly resize: (columns: number, rows: number) => void
  /** Signals the program's process group; resolves to false where the backend cannot reach it. */
  readonly signal: (name: NodeJS.Signals) => Promise<boolean>
  /** Abandons the program: sends SIGHUP to its group and destroys the streams. Never rejects. */
  readonly hangUp: () => Promise<void>
}

/** Exit status of a program. */
export interface ExitStatus {
  /** 128 + n after signal n. */
  readonly status: number
  /** The terminating signal, where the backend can distinguish it from a status of the same value. */
  readonly signal?: NodeJS.Signals
  readonly hasDumpedCore?: boolean
}

/** A socket inside a workspace on which the server listens. */
export interface InsideListener {
  /** Path of the socket as seen from inside the workspace. */
  readonly path: string
  /** Removes the socket and closes its connections. */
  readonly close: () => Promise<void>
}

/** A TCP port inside a workspace on which the server listens. */
export interface InsidePort {
  /** Resolves when it no longer accepts connections, because it was closed or the way into the workspace was lost. */
  readonly closed: Promise<void>
  /** Stops listening and closes its connections. */
  readonly close: () => void
}

/** Login properties of the workspace's user. */
export interface LoginEnvironment {
  readonly user: string
  /** UID inside the workspace. */
  readonly userId: number
  readonly home: string
  readonly shell: string
}

/** Resource usage of a running workspace. */
export interface Load {
  /** CPU time since the workspace started. */
  readonly cpuMs: number
  readonly memoryBytes: number
}

/** Files of a backend on disk. */
export interface BackendUsage {
  readonly images: readonly ImagePart[]
  /** By workspace name, its own files and its volume. Includes deleted workspaces whose files were kept. */
  readonly workspaces: ReadonlyMap<string, readonly UsagePart[]>
  readonly snapshots: readonly ImagePart[]
  /** Sentences that explain what the figures omit. */
  readonly notes: readonly string[]
}

/** A connection from a guest to its host. */
export interface GuestCaller {
  readonly workspace: string
  readonly token: string
  readonly connection: Duplex
}

/** A file or directory to measure, unless the backend already knows its size. */
export interface MeasuredPart {
  readonly path: string
  readonly size?: Bytes
}

/** An image or snapshot on disk. */
export interface ImagePart extends MeasuredPart {
  readonly name: string
  /** '' for none. */
  readonly dockerRef: string
}

/** A file of a workspace on disk. */
export interface UsagePart extends MeasuredPart {
  readonly kind: 'rootfs' | 'volume' | 'memory' | 'checkpoint' | 'console_log' | 'metadata'
}

/**
 * A backend that runs workspaces. Its methods do not check workspace states, which is the lifecycle's job.
 *
 * @throws BACKEND_UNAVAILABLE when the engine does not respond
 * @throws BACKEND_ERROR when it refuses
 */
export interface Backend {
  readonly name: BackendName
  /** Whether the engine responded when last asked. */
  readonly isAvailable: boolean
  /** Why the engine is unavailable, if known. */
  readonly whyUnavailable?: string | undefined
  /**
   * Connects and reports changes from then on. Resolves once the engine has responded or turned out to be
   * absent.
   */
  readonly open: (onChange: (change: BackendChange) => void) => Promise<void>
  readonly close: () => Promise<void>
  /** Lists every workspace of this server that the engine has. */
  readonly list: () => Promise<readonly Workspace[]>
  /** Resolves to undefined when the engine has no such workspace. */
  readonly find: (name: string) => Promise<Workspace | undefined>
  /** Whether files of an earlier workspace of this name exist, which a new one would adopt. */
  readonly hasVolume: (name: string) => Promise<boolean>
  readonly create: (
    request: BackendCreate,
    progress: (message: string) => void,
    signal: AbortSignal,
  ) => Promise<Workspace>
  readonly start: (name: string) => Promise<Workspace>
  /** Stops the workspace; the memory of a suspended one is discarded. */
  readonly stop: (name: string) => Promise<Workspace>
  /**
   * Saves the memory of a running workspace and stops it; `start` then continues its programs.
   *
   * @throws SUSPEND_UNSUPPORTED when its memory cannot be saved; it runs on
   */
  readonly suspend: (name: string) => Promise<Workspace>
  /**
   * Renames a stopped workspace; absent for backends that cannot. A killed server leaves it with one of the names and all
   * its files.
   */
  readonly rename?: ((name: string, to: string) => Promise<Workspace>) | undefined
  /** Resets the disk of a stopped workspace to its image; absent for backends without per-workspace disks. */
  readonly reset?: (name: string) => Promise<Workspace>
  /** Absent for backends without per-workspace disks. */
  readonly snapshots?: Snapshots
  /** Absent for backends that cannot fork workspaces. */
  readonly forks?: Forks | undefined
  /** Absent for backends that cannot copy the files of workspaces. */
  readonly checkpoints?: Checkpoints | undefined
  /** Absent for backends that cannot build images. */
  readonly builds?: ImageBuilds | undefined
  /** Removes the workspace if it exists, and its volume unless `keepVolume` is set. */
  readonly remove: (name: string, keepVolume: boolean) => Promise<void>
  readonly exec: (name: string, request: ExecRequest) => Promise<ExecProcess>
  /**
   * Connects to a port on the loopback address inside the workspace.
   *
   * @throws CONNECT_FAILED when nothing accepts the connection
   */
  readonly dial: (name: string, port: number) => Promise<Duplex>
  /** Whether `listenInside` can be expected to work. */
  readonly canListenInside: (name: string) => boolean
  /**
   * Creates a Unix socket that only programs of the workspace's own user can connect to. A connection stays
   * half-open when one side ends it.
   */
  readonly listenInside: (name: string, onConnection: (connection: Duplex) => void) => Promise<InsideListener>
  /**
   * Listens on a TCP port of 127.0.0.1 inside a running workspace, for every program in it. A connection stays half-open when
   * one side ends it.
   *
   * @throws PORT_UNAVAILABLE when a program inside uses the port, or this server cannot listen inside
   */
  readonly listenPort: (
    name: string,
    port: number,
    onConnection: (connection: Duplex) => void,
  ) => Promise<InsidePort>
  readonly loginEnvironment: (name: string) => Promise<LoginEnvironment>
  readonly usage: () => Promise<BackendUsage>
  /**
   * Returns the resource usage of running workspaces by `containerId`, omitting those that cannot be
   * measured. Called every other second for hundreds of workspaces, so it reads kernel files and never asks
   * the engine.
   */
  readonly loads: (running: readonly Workspace[]) => Promise<ReadonlyMap<string, Load>>
  /**
   * Calls onConnection for each vsock connection a guest opens to this host port, once `open` was called. The
   * guest is identified by the socket it arrives on; the token is known only to that guest's own agent.
   * Absent if the backend has no guests.
   */
  readonly listenGuests?: (port: number, onConnection: (caller: GuestCaller) => void) => void
  /**
   * Returns the last lines printed by the container's main process or the VM's console, for stopped
   * workspaces too.
   */
  readonly logs: (name: string, lines: number) => Promise<readonly string[]>
  /**
   * Yields the last lines and then new ones, until the container's main process exits, the engine goes away or
   * the signal aborts. A slow reader holds up the reading, never memory.
   */
  readonly followLogs: (name: string, lines: number, signal: AbortSignal) => AsyncIterable<string>
  /** Returns when a stopped workspace was last changed. Rejects when that cannot be determined. */
  readonly changedAt: (name: string) => Promise<Date>
}

/** The methods that enter running workspaces: everything the SSH workers need. */
export type BackendAccess = Pick<
  Backend,
  'exec' | 'dial' | 'canListenInside' | 'listenInside' | 'loginEnvironment'
>

/**
 * A change in a backend. `changed`: the workspace may have a new state. `outOfMemory`: the OOM killer
 * terminated a program in it; the workspace keeps running unless `changed` follows. `rebooting`: it stopped
 * and wants to be started again. `away`: the engine stopped responding. `resync`: the engine responds again,
 * and anything may have changed in the meantime. `trouble`: work that no request waits for failed, or succeeds again.
 */
export type BackendChange =
  | { readonly is: 'changed' | 'rebooting' | 'outOfMemory'; readonly name: string }
  | { readonly is: 'away' }
  | { readonly is: 'resync' }
  | ({ readonly is: 'trouble' } & Outcome)
