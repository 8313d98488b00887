/**
 * Protocol between the host and the agent inside a virtual machine, one request per connection. A request is a
 * message (`message.ts`), and so is the answer; what follows depends on the request.
 */
export type GuestRequest =
  /** The connection then becomes a `Mux` with the channels of `EXEC_CHANNELS`. */
  | ({ readonly do: 'exec' } & GuestProgram & InSession)
  /**
   * The connection then becomes a `Mux` whose channel `DIAL_CHANNEL` is connected to that port of the guest's loopback address,
   * because not every vsock supports half-close.
   */
  | ({ readonly do: 'dial'; readonly port: number } & InSession)
  /** The connection then becomes a `Mux`, and the guest opens a channel per connection. Response: `GuestSocket`. */
  | ({ readonly do: 'listen'; readonly user?: string } & InSession)
  /** As `listen`, on a TCP port of the guest's 127.0.0.1, for every program inside. Response: empty. */
  | { readonly do: 'listen-port'; readonly port: number }
  /**
   * Continues a session whose connection was lost; `received` is the number of bytes that the host has. Response: `GuestResumed`,
   * and the connection continues as the session's `ResumableStream`.
   */
  | { readonly do: 'resume'; readonly session: string; readonly received: number }
  /** Response: `GuestHealth`. */
  | { readonly do: 'health' }
  /** Response: empty. Frozen programs continue. */
  | ({ readonly do: 'prepare' } & GuestSetting)
  /** Freezes all programs until the next `prepare`, for at most a minute. Response: empty. */
  | { readonly do: 'freeze' }
  /** Response: empty, after all data is flushed; `reboot` stops machines without power management. */
  | { readonly do: 'shut-down'; readonly by: 'poweroff' | 'reboot' }

/** The agent's response to a request: its result, or an error. */
export type GuestAnswer<T = Record<string, never>> =
  ({ readonly ok: true } & T) | { readonly ok: false; readonly code: string; readonly message: string }

/**
 * A request whose connection can be lost without losing its bytes. If the agent's response contains `isResumable`, a
 * `ResumableStream` follows, on which all else happens.
 */
interface InSession {
  /** 32 random hexadecimal digits, by which the session is resumed. */
  readonly session?: string
}

/** Response of an agent that can resume the session; agents of older images cannot. */
export interface GuestSession {
  readonly isResumable?: boolean
}

/** Number of bytes of a resumed session that the guest has received. */
export interface GuestResumed {
  readonly received: number
}

/** How long both sides of a session wait for another connection. The time of a suspended machine does not count in the guest. */
export const PATIENCE_MS = 60_000

/** A program to start in the guest. */
export interface GuestProgram {
  readonly argv: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  /** Name or number; default: the workspace's user. */
  readonly user?: string
  readonly terminal?: { readonly columns: number; readonly rows: number }
  readonly stdin: boolean
}

/** Settings of a guest that the host sends after each boot or resume. */
export interface GuestSetting {
  readonly hostname: string
  /** Time in milliseconds since 1970; sent after a resume, because the guest's clock stood still. */
  readonly clockMs?: number
  /** Token that identifies the agent on the bus, to which programs of the guest can connect too. */
  readonly agentToken: string
  /** Token that programs inside must send to get cloud credentials; without it every program gets them. */
  readonly credentialsToken?: string
  /** Identity of a machine that continues from a copy of another's memory. */
  readonly fork?: GuestFork
  /** Tag of the host directory mounted as the workspace; its owner on the host determines the user. */
  readonly share?: { readonly tag: string; readonly uid: number; readonly gid: number }
  readonly network?: {
    readonly mac: string
    readonly address: string
    readonly prefixLength: number
    readonly gateway: string
    readonly nameServers: readonly string[]
  }
}

/** Values that a machine with a copy of another's memory replaces before its programs continue. */
export interface GuestFork {
  /** Random bytes for the kernel's generator, in base64; otherwise all copies would generate the same numbers. */
  readonly entropy: string
  readonly machineId: string
  /** MAC addresses of the other machine and its own. */
  readonly mac: { readonly from: string; readonly to: string }
}

/** A Unix socket created in the guest. */
export interface GuestSocket {
  readonly path: string
}

/** State of the guest's system. */
export interface GuestHealth {
  readonly bootId: string
  readonly uptimeSeconds: number
  readonly memoryBytes: number
  readonly availableMemoryBytes: number
  readonly diskBytes: number
  readonly freeDiskBytes: number
}

/** Channels of a running program, by number. */
export const EXEC_CHANNELS = { control: 0, stdin: 1, stdout: 2, stderr: 3 } as const

/** The channel of a dialed port. */
export const DIAL_CHANNEL = 1

/** Messages on the control channel: `signal` and `resize` from the host, one `exit` from the guest. */
export type ExecMessage =
  | { readonly say: 'signal'; readonly name: string }
  | { readonly say: 'resize'; readonly columns: number; readonly rows: number }
  | { readonly say: 'exit'; readonly status: number; readonly signal?: string }

/** The agent's vsock port, and its TCP port in pods. */
export const AGENT_PORT = 1025
/** Directory and files of the keys with which a pod's agent and the server identify each other. */
export const POD_AGENT_KEYS = {
  directory: '/run/workspace-keys',
  certificate: 'agent.crt',
  key: 'agent.key',
  /** Certificate of the server. */
  client: 'server.crt',
} as const
/** Name of the agent's virtio serial port. */
export const AGENT_SERIAL = 'workspace.agent'

/** The host's vsock port for messages of its guests. */
export const BUS_PORT = 1024
