import type { LogSettings } from './log/process-logs.ts'

export const RESTART_POLICIES = ['always', 'on-failure', 'never'] as const
type RestartPolicy = (typeof RESTART_POLICIES)[number]

export const CONDITIONS = ['started', 'healthy', 'completed', 'ended'] as const
/** What must be true of a process before one that depends on it starts. */
export type Condition = (typeof CONDITIONS)[number]

/** Ends of a process that end all others: it failed, it completed, or it can never start. */
export const ABORT_REASONS = ['failure', 'success', 'skipped'] as const
type AbortReason = (typeof ABORT_REASONS)[number]

/** Resources of setrlimit(2) that a process may be given, and how Linux numbers them. */
export const RESOURCES = {
  cpuTime: 0,
  fileSize: 1,
  data: 2,
  stack: 3,
  core: 4,
  nproc: 6,
  nofile: 7,
  memlock: 8,
  addressSpace: 9,
} as const

export interface HealthCheck {
  readonly probe:
    | { readonly kind: 'exec'; readonly command: string | readonly string[] }
    | {
        readonly kind: 'http'
        readonly url: string
        readonly headers: Readonly<Record<string, string>>
        /** The status of a healthy answer; 200 to 399 where left out. */
        readonly status: number | undefined
      }
    /** A line that holds this text says that the process is healthy, until it ends. */
    | { readonly kind: 'log'; readonly text: string }
    | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  readonly intervalMs: number
  readonly timeoutMs: number
  /** So many failures in a row make it unhealthy. */
  readonly retries: number
  /** Failures within this time after the start do not count. */
  readonly startPeriodMs: number
  /** The action for an unhealthy process: none, a restart, or its end, after which its restart policy decides. */
  readonly onUnhealthy: 'none' | 'restart' | 'end'
}

/** All there is to know to run one process. Two that are equal as JSON are the same. */
export interface ProcessSpec {
  /** `web`, or `web-2` for the second of several replicas. */
  readonly name: string
  /** The name in the config, which replicas share. */
  readonly base: string
  /** A text is the shell's, a list is run as it is. */
  readonly command: string | readonly string[]
  readonly cwd: string
  /** As configured: references are resolved at each start. */
  readonly env: Readonly<Record<string, string>>
  readonly envFiles: readonly string[]
  readonly autostart: boolean
  readonly restart: RestartPolicy
  readonly successCodes: readonly number[]
  /** Before each restart; where left out 1 s, doubled up to 60 s, and none after five short runs. */
  readonly restartDelayMs: number | undefined
  /** So many restarts at most; no bound of their own where left out. */
  readonly maxRestarts: number | undefined
  /** Which of its ends end all processes. */
  readonly abortOn: readonly AbortReason[]
  readonly dependsOn: Readonly<Record<string, Condition>>
  readonly healthCheck: HealthCheck | undefined
  readonly stopSignal: NodeJS.Signals
  /** Run in place of the signal; a failure of it is followed by SIGKILL. */
  readonly stopCommand: string | readonly string[] | undefined
  readonly stopTimeoutMs: number
  readonly user: string | undefined
  readonly limits: Readonly<Partial<Record<keyof typeof RESOURCES, number>>>
  readonly memoryBytes: number | undefined
  /** In CPUs: 1.5 is one and a half. */
  readonly cpus: number | undefined
  readonly log: LogSettings
  readonly proxy: { readonly subdomain: string; readonly port: number } | undefined
  /** When it is started by the clock, as crontab(5) writes it. */
  readonly schedule: string | undefined
}
