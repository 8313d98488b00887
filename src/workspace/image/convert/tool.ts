import { spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { messageOf } from '../../../lib/errors/message.ts'
import { toolEnvironment } from '../../../lib/process/tool-environment.ts'
import { fault } from '../../errors.ts'

const KEPT_CHARACTERS = 4_096

export interface ToolOptions {
  /** Of the error when it fails, as `${what} failed: …`. */
  readonly what: string
  /** What to install where the program is missing. */
  readonly package: string
  readonly environment?: Readonly<Record<string, string>>
  readonly input?: Readable
  readonly signal?: AbortSignal | undefined
  /** What the program and those that it started are sent when they are to stop; default SIGKILL. */
  readonly stopSignal?: NodeJS.Signals
  /** Called with each line that it prints. */
  readonly onLine?: (line: string) => void
}

/**
 * Runs a program without a shell to its end, which it has come to when this returns or throws. Throws BACKEND_ERROR with
 * its last words when it fails, saying so when a disk is full; the signal's reason when told to stop.
 */
export async function runTool(argv: readonly string[], options: ToolOptions): Promise<string> {
  const [program = '', ...rest] = argv
  const { what, signal, input, onLine } = options
  signal?.throwIfAborted()
  const child = spawn(program, rest, {
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    env: toolEnvironment(options.environment),
    // A group of its own, so that it ends whole.
    detached: true,
  })
  const kill = (): void => endGroup(child.pid, options.stopSignal ?? 'SIGKILL')
  signal?.addEventListener('abort', kill, { once: true })
  const out = collect(child.stdout, onLine)
  const said = collect(child.stderr, onLine)
  const end = new Promise<number | string>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, killedBy) => resolve(code ?? killedBy ?? 1))
  })
  // Whoever writes to a program that has ended is told so; how it ended says more.
  const fed = input && child.stdin ? pipeline(input, child.stdin).catch((error: unknown) => error) : undefined
  try {
    const status = await end
    signal?.throwIfAborted()
    const broken = await fed
    if (status === 0 && broken === undefined) return out()
    const words = status === 0 ? messageOf(broken) : said().trim().split('\n').slice(-3).join('; ')
    const isFull = /no space left on device|disk quota exceeded/i.test(`${words}${said()}`)
    throw fault(
      'BACKEND_ERROR',
      isFull
        ? `${what} failed: the disk is full (${words}); make room there and try again`
        : `${what} failed: ${words || `${program} ended with ${status}`}`,
      broken,
    )
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    throw fault('BACKEND_ERROR', `${what} needs the program ${program}: install ${options.package}`, error)
  } finally {
    signal?.removeEventListener('abort', kill)
    input?.destroy()
  }
}

function endGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal)
  } catch {
    // It has ended by itself.
  }
}

/** The end of what a stream says. */
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
