import { execFile } from 'node:child_process'

/** Result of a command. `status` is null if a signal killed it. */
export interface RunResult {
  readonly status: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

/**
 * Runs a command without a shell and collects its output (at most 16 MiB). A non-zero status is a result, not an
 * error; a command that cannot be started rejects with the system's error (`ENOENT` …).
 */
export function run(
  command: string,
  argv: readonly string[],
  options: {
    readonly cwd?: string
    readonly environment?: NodeJS.ProcessEnv
    readonly timeoutMs?: number
    /** Signal at the timeout; default: SIGTERM. */
    readonly killSignal?: NodeJS.Signals
    readonly signal?: AbortSignal
    /** Standard input; default: empty. */
    readonly input?: string
    /** Encoding of the output: with `latin1`, each character is a byte. Default: UTF-8. */
    readonly encoding?: 'latin1'
  } = {},
): Promise<RunResult> {
  return new Promise((resolve, reject) => {
    const child = execFile(
      command,
      argv,
      {
        maxBuffer: 2 ** 24,
        encoding: options.encoding ?? 'utf8',
        timeout: options.timeoutMs ?? 0,
        killSignal: options.killSignal ?? 'SIGTERM',
        ...(options.cwd !== undefined && { cwd: options.cwd }),
        ...(options.environment !== undefined && { env: options.environment }),
        ...(options.signal !== undefined && { signal: options.signal }),
      },
      (error, stdout, stderr) => {
        if (error && typeof error.code === 'string') return reject(error)
        resolve({
          status: error ? (typeof error.code === 'number' ? error.code : null) : 0,
          signal: error?.signal ?? null,
          stdout,
          stderr,
        })
      },
    )
    if (options.input === undefined) return
    // A command may exit before it has read everything.
    child.stdin?.on('error', () => undefined).end(options.input)
  })
}
