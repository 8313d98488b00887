/**
 * What a host says to the agent inside a virtual machine, one request a connection, and what it hears. A request is a
 * message (`message.ts`), and so is the answer; what follows depends on the request.
 */
export type GuestRequest =
  /** Then both are at the ends of a `Mux` with the channels of `EXEC_CHANNELS`. */
  | ({ readonly do: 'exec' } & GuestProgram)
  /**
   * Then both are at the ends of a `Mux` whose channel `DIAL_CHANNEL` is joined with that port of the guest's loopback address:
   * not every vsock knows the end of one half of a connection.
   */
  | { readonly do: 'dial'; readonly port: number }
  /** Then both are at the ends of a `Mux`, and the guest opens a channel for each connection. Answer: `GuestSocket`. */
  | { readonly do: 'listen'; readonly user?: string }
  /** Answer: `GuestHealth`. */
  | { readonly do: 'health' }
  /** Answer: nothing. */
  | ({ readonly do: 'prepare' } & GuestSetting)
  /** Answer: nothing, once everything is written; `reboot` is how machines without power management are ended. */
  | { readonly do: 'shut-down'; readonly by: 'poweroff' | 'reboot' }

export type GuestAnswer<T = Record<string, never>> =
  ({ readonly ok: true } & T) | { readonly ok: false; readonly code: string; readonly message: string }

export interface GuestProgram {
  readonly argv: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  /** Name or number; the workspace's own user when left out. */
  readonly user?: string
  readonly terminal?: { readonly columns: number; readonly rows: number }
  readonly stdin: boolean
}

export interface GuestSetting {
  readonly hostname: string
  /** What the agent shows on the bus, which programs of the guest can connect to as well. */
  readonly agentToken: string
  /** Token that programs inside must show to get cloud credentials; without it any program gets them. */
  readonly credentialsToken?: string
  /** Tag of a directory of the host's that becomes the workspace's; its owner on the host decides who the user is. */
  readonly share?: { readonly tag: string; readonly uid: number; readonly gid: number }
  readonly network?: {
    readonly mac: string
    readonly address: string
    readonly prefixLength: number
    readonly gateway: string
    readonly nameServers: readonly string[]
  }
}

export interface GuestSocket {
  readonly path: string
}

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

/** The one channel of a dialled port. */
export const DIAL_CHANNEL = 1

/** On the control channel, as messages: from the host `signal` and `resize`, from the guest `exit` once. */
export type ExecMessage =
  | { readonly say: 'signal'; readonly name: string }
  | { readonly say: 'resize'; readonly columns: number; readonly rows: number }
  | { readonly say: 'exit'; readonly status: number; readonly signal?: string }

/** Where the agent listens: a vsock port, and the name of a serial port where there is no vsock. */
export const AGENT_PORT = 1025
export const AGENT_SERIAL = 'workspace.agent'

/** Where the host listens for its guests' messages: a vsock port of its own. */
export const BUS_PORT = 1024
