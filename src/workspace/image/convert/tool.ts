import { type ChildProcess, spawn } from 'node:child_process'
import { type Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { messageOf } from '../../../lib/errors/message.ts'
import { type SandboxOptions } from '../../../lib/sandbox/sandbox.ts'
import { spawnSandboxed } from '../../../lib/sandbox/spawn-sandboxed.ts'
import { endGroup } from '../../../lib/process/end-group.ts'
import { toolEnvironment } from '../../../lib/process/tool-environment.ts'
import { fault } from '../../errors.ts'

const KEPT_CHARACTERS = 4_096
/** Exit statuses that shells and sandboxes use for signals, and for a program that cannot be started. */
const [TIME_LIMIT, FILE_LIMIT, KILLED, NO_PROGRAM] = [128 + 24, 128 + 25, 128 + 9, 127]

/** Options of runTool. */
export interface ToolOptions {
  /** Names the work in errors, as `${what} failed: …`. */
  readonly what: string
  /** Package to install when the program is missing. */
  readonly package: string
  readonly environment?: Readonly<Record<string, string>>
  readonly input?: Readable
  /** Destination of standard output, instead of the result. */
  readonly output?: Writable
  /** Sandbox of the program; without one it runs with this process's permissions. */
  readonly sandbox?: SandboxOptions
  readonly signal?: AbortSignal | undefined
  /** Signal that stops the program and its children; defaults to SIGKILL. */
  readonly stopSignal?: NodeJS.Signals
  /** Called with each line of output, except lines that `tolerates` accepts. */
  readonly onLine?: (line: string) => void
  /**
   * Returns whether a line of standard error is harmless. A program that fails with only such lines has
   * succeeded.
   */
  readonly tolerates?: (line: string) => boolean
}

/**
 * Runs a program without a shell. The program has exited when this resolves or rejects.
 *
 * @throws BACKEND_ERROR with its last lines of output when it fails, or naming a full disk; the reason of
 * `signal` when aborted
 */
export async function runTool(argv: readonly string[], options: ToolOptions): Promise<string> {
  const [program = ''] = argv
  const { what, signal, input, output, onLine, sandbox } = options
  signal?.throwIfAborted()
  const child = start(argv, options)
  const kill = (): void => endGroup(child.pid, options.stopSignal ?? 'SIGKILL')
  signal?.addEventListener('abort', kill, { once: true })
  const out = output === undefined ? collect(child.stdout, onLine) : undefined
  let isTolerable = options.tolerates !== undefined
  const errorOutput = collect(child.stderr, (line) => {
    if (options.tolerates?.(line) === true) return
    isTolerable = false
    onLine?.(line)
  })
  const end = new Promise<number | string>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, killedBy) => resolve(code ?? killedBy ?? 1))
  })
  const feeding =
    input && child.stdin ? pipeline(input, sinkOf(child.stdin)).catch((error: unknown) => error) : undefined
  const forwarding =
    output && child.stdout ? pipeline(child.stdout, output).catch((error: unknown) => error) : undefined
  try {
    const status = await end
    signal?.throwIfAborted()
    const isDone =
      status === 0 ||
      (isTolerable && errorOutput() !== '' && typeof status === 'number' && status < NO_PROGRAM)
    // A failed program does not read the rest of its input.
    if (!isDone) input?.destroy()
    const broken = (await feeding) ?? (await forwarding)
    if (isDone && broken === undefined) return out?.() ?? ''
    if (sandbox !== undefined && status === NO_PROGRAM && errorOutput().includes('failed to execute'))
      throw Object.assign(new Error(errorOutput().trim()), { code: 'ENOENT' })
    const message = isDone
      ? messageOf(broken)
      : ((sandbox && limitOf(status, sandbox)) ?? errorOutput().trim().split('\n').slice(-3).join('; '))
    const isFull = /no space left on device|disk quota exceeded/i.test(`${message}${errorOutput()}`)
    throw fault(
      'BACKEND_ERROR',
      isFull
        ? `${what} failed: the disk is full (${message}); free disk space and try again`
        : `${what} failed: ${message || `${program} exited with ${status}`}`,
      broken,
    )
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    throw fault('BACKEND_ERROR', `${what} requires ${program}; install ${options.package}`, error)
  } finally {
    signal?.removeEventListener('abort', kill)
    input?.destroy()
  }
}

function start(argv: readonly string[], { input, sandbox, environment }: ToolOptions): ChildProcess {
  const [program = '', ...rest] = argv
  const stdin = input === undefined ? 'ignore' : 'pipe'
  if (sandbox === undefined)
    return spawn(program, rest, {
      stdio: [stdin, 'pipe', 'pipe'],
      env: toolEnvironment(environment),
      // In a separate process group, so that it can be stopped as a whole.
      detached: true,
    })
  // Only the path from this process's environment: the rest may contain secrets.
  const { PATH, LC_ALL } = toolEnvironment()
  const env = { PATH, LC_ALL, ...environment }
  return spawnSandboxed(program, rest, sandbox, { stdio: [stdin, 'pipe', 'pipe'], env })
}

/** Returns which sandbox limit stopped a program, as a sentence; undefined when none did. */
function limitOf(status: number | string, { limits }: SandboxOptions): string | undefined {
  if (limits === undefined) return undefined
  if (status === FILE_LIMIT) return `a file would exceed ${limits.fileBytes / 2 ** 30} GiB`
  if (status === TIME_LIMIT || status === KILLED)
    return `it exceeded ${limits.cpuSeconds} s of processor time`
  return undefined
}

/**
 * Writes to a program's standard input while the program reads it, and drops the rest: a program may exit
 * early, like tar after an archive's end mark. A truncated source is still detected.
 */
function sinkOf(stdin: Writable): Writable {
  stdin.on('error', () => undefined)
  return new Writable({
    write(chunk, _encoding, done) {
      if (stdin.destroyed) done()
      else stdin.write(chunk, () => done())
    },
    final(done) {
      if (stdin.destroyed) done()
      else stdin.end(() => done())
    },
    destroy(error, done) {
      stdin.destroy()
      done(error)
    },
  })
}

/** Collects the end of a stream's output. */
function collect(stream: Readable | null, onLine: ((line: string) => void) | undefined): () => string {
  let text = ''
  let line = ''
  stream?.setEncoding('utf8').on('data', (chunk: string) => {
    text = (text + chunk).slice(-KEPT_CHARACTERS)
    if (onLine === undefined) return
    const lines = (line + chunk).split('\n')
    line = (lines.pop() ?? '').slice(-KEPT_CHARACTERS)
    lines.forEach(onLine)
  })
  return () => text
}
