import type { LogSettings } from './log/process-logs.ts'

/** Policies for restarting a process. */
export const RESTART_POLICIES = ['always', 'on-failure', 'never'] as const
type RestartPolicy = (typeof RESTART_POLICIES)[number]

/** Conditions of dependencies. */
export const CONDITIONS = ['started', 'healthy', 'completed', 'ended'] as const
/** Condition of a dependency before the dependent process starts. */
export type Condition = (typeof CONDITIONS)[number]

/** Order in which a restart stops the current run and starts the next one. */
export const RESTART_ORDERS = ['stop-first', 'start-first'] as const

/** Exits of a process that stop all others: it failed, it completed, or it can never start. */
export const ABORT_REASONS = ['failure', 'success', 'skipped'] as const
type AbortReason = (typeof ABORT_REASONS)[number]

/** Resources of setrlimit(2) with their numbers on Linux. */
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

/** A periodic health check of a process. */
export interface HealthCheck {
  readonly probe:
    | { readonly kind: 'exec'; readonly command: string | readonly string[] }
    | {
        readonly kind: 'http'
        readonly url: string
        readonly headers: Readonly<Record<string, string>>
        /** Status of a healthy response; default: 200 to 399. */
        readonly status: number | undefined
      }
    /** Healthy from the first line that contains this text until it exits. */
    | { readonly kind: 'log'; readonly text: string }
    | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  readonly intervalMs: number
  readonly timeoutMs: number
  /** Consecutive failures that make it unhealthy. */
  readonly retries: number
  /** Time before the first check; default: as between checks of a starting process. */
  readonly initialDelayMs: number | undefined
  /** Time between checks until the first that succeeds or makes it unhealthy, at most the interval. */
  readonly startIntervalMs: number
  /** Failures within this time after the start do not count. */
  readonly startPeriodMs: number
  /** Action for an unhealthy process: none, a restart, or a stop, after which its restart policy applies. */
  readonly onUnhealthy: 'none' | 'restart' | 'end'
}

/** Settings of one process. Two specs with equal JSON are the same. */
export interface ProcessSpec {
  /** `web`, or `web-2` for the second of several replicas. */
  readonly name: string
  /** Name in the configuration, shared by replicas. */
  readonly base: string
  /** Names of the groups it is in. */
  readonly groups: readonly string[]
  /** A string for the shell, or a list of arguments. */
  readonly command: string | readonly string[]
  readonly cwd: string
  /** As configured: references are resolved at each start. */
  readonly env: Readonly<Record<string, string>>
  readonly envFiles: readonly string[]
  readonly autostart: boolean
  readonly restart: RestartPolicy
  readonly successCodes: readonly number[]
  /** Delay before each restart; default: 1 s, doubled up to 60 s, and none after five short runs. */
  readonly restartDelayMs: number | undefined
  /** Maximum number of consecutive restarts. */
  readonly maxRestarts: number | undefined
  /** Exits that stop all processes. */
  readonly abortOn: readonly AbortReason[]
  readonly dependsOn: Readonly<Record<string, Condition>>
  readonly healthCheck: HealthCheck | undefined
  readonly stopSignal: NodeJS.Signals
  /** Command instead of the signal; if it fails, SIGKILL follows. */
  readonly stopCommand: string | readonly string[] | undefined
  readonly stopTimeoutMs: number
  /** Limits of a restart that starts the next run first; undefined: it stops the current one first. */
  readonly startFirst:
    | {
        /** Time in which the next run must become healthy. */
        readonly startTimeoutMs: number
        /** Time in which requests to the replaced run must end. */
        readonly drainTimeoutMs: number
      }
    | undefined
  readonly user: string | undefined
  /** Whether it runs on a terminal. */
  readonly hasTerminal: boolean
  readonly limits: Readonly<Partial<Record<keyof typeof RESOURCES, number>>>
  readonly memoryBytes: number | undefined
  /** Number of CPUs, such as 1.5. */
  readonly cpus: number | undefined
  readonly log: LogSettings
  readonly proxy:
    | {
        readonly subdomain: string
        readonly port: number
        /** Maximum time that a request waits for the process to start, if not the default. */
        readonly holdMs: number | undefined
      }
    | undefined
  /** Files whose change restarts it. */
  readonly watch:
    | { readonly paths: readonly string[]; readonly ignore: readonly string[]; readonly debounceMs: number }
    | undefined
  /** Start times in crontab(5) syntax. */
  readonly schedule: string | undefined
}
