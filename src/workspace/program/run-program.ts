import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { ignore } from '../../lib/errors/ignore.ts'
import type { ExecProcess, ExitStatus } from '../backend/backend.ts'
import { hangUpOnAbort } from '../backend/follow-program.ts'

/** Time for a program to react to SIGTERM, and for the backend to report the end of a killed one. */
const KILL_GRACE_MS = 5_000
const POLL_MS = 2
const MAX_CHUNKS = 1_024
/** Status of a killed program, or of one whose workspace stopped, which kills it. */
export const KILLED: ExitStatus = { status: 137, signal: 'SIGKILL' }

/** A program's output stream. */
export type OutputName = 'stdout' | 'stderr'

/** Receives output; a promise holds up the stream, and the program with it once the pipe is full. */
type TakeOutput = (name: OutputName, chunk: Buffer) => Promise<void> | undefined

/** Options of a program that a client waits for. */
interface RunOptions {
  readonly input: string | Readable
  /** The program is terminated after this time; undefined for no limit. */
  readonly timeoutMs: number | undefined
  /** Aborts when the client disconnects, which hangs up the program. */
  readonly gone: AbortSignal
}

/** How a program ended. */
export interface ProgramEnd extends ExitStatus {
  readonly hasTimedOut: boolean
  readonly durationMs: number
}

/**
 * Runs a started program to its end. Resolves once it has exited and its output has been taken; children it left
 * in the background may continue to run.
 *
 * @throws the reason of `gone`
 */
export async function runToEnd(
  process: ExecProcess,
  { input, timeoutMs, gone }: RunOptions,
  take: TakeOutput,
): Promise<ProgramEnd> {
  const startedMs = performance.now()
  const release = hangUpOnAbort(gone, process)
  const ended = new AbortController()
  // Not every program reads its input.
  process.stdin.on('error', () => undefined)
  if (typeof input === 'string') process.stdin.end(input)
  else pipeline(input, process.stdin).catch(ignore('not every program reads its input'))
  try {
    let hasTimedOut = false
    const end = followOutput(process, take)
    const limit = timeoutMs === undefined ? undefined : delay(timeoutMs, undefined, { signal: ended.signal })
    const overdue = limit?.then(() => {
      hasTimedOut = true
      return terminate(process, ended.signal)
    })
    overdue?.catch(ignore('it rejects once the program has ended in time'))
    const exit = await Promise.race([end, rejectionOf(gone), ...(overdue === undefined ? [] : [overdue])])
    return { ...exit, hasTimedOut, durationMs: Math.round(performance.now() - startedMs) }
  } finally {
    ended.abort()
    release()
  }
}

/**
 * Passes on all output. Resolves once the program has exited and what it wrote has been taken. A background child
 * that inherited a stream keeps it open: from then on its output is discarded.
 */
export async function followOutput(process: ExecProcess, take: TakeOutput): Promise<ExitStatus> {
  const streams = [process.stdout, process.stderr]
  for (const name of ['stdout', 'stderr'] as const) pass(process[name], (chunk) => take(name, chunk))
  const exit = await process.exitStatus
  while (streams.some(hasMore)) await delay(POLL_MS)
  for (const stream of streams) stream.removeAllListeners('data').resume()
  return exit
}

function pass(stream: Readable, take: (chunk: Buffer) => Promise<void> | undefined): void {
  stream.on('error', () => undefined)
  stream.on('data', (chunk: Buffer) => {
    const taken = take(chunk)
    if (taken === undefined) return
    stream.pause()
    void taken.finally(() => stream.resume())
  })
}

function hasMore(stream: Readable): boolean {
  return !stream.readableEnded && !stream.destroyed && (stream.readableLength > 0 || stream.isPaused())
}

/** Rejects when the signal aborts: a program may ignore that its client has disconnected. */
function rejectionOf(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const rejectNow = (): void => reject(signal.reason as Error)
    if (signal.aborted) rejectNow()
    else signal.addEventListener('abort', rejectNow, { once: true })
  })
}

/** Terminates a program; resolves when not even SIGKILL ended it. */
async function terminate(process: ExecProcess, ended: AbortSignal): Promise<ExitStatus> {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    await process.signal(signal).catch(ignore('it may have exited', false))
    await delay(KILL_GRACE_MS, undefined, { signal: ended })
  }
  await process.hangUp()
  return KILLED
}

/** Collects a program's output and keeps its end, because that is where programs print their errors. */
export class OutputTail {
  readonly #maxBytes: number
  #chunks: Buffer[] = []
  #bytes = 0
  #droppedBytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  add(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    // Joined rarely, because every join copies; but a chunk may have a single byte.
    if (this.#bytes > 2 * this.#maxBytes || this.#chunks.length > MAX_CHUNKS) this.#trim()
  }

  /** Returns the kept bytes and the number of those before them. */
  end(): { readonly bytes: Buffer; readonly droppedBytes: number } {
    this.#trim()
    return { bytes: Buffer.concat(this.#chunks), droppedBytes: this.#droppedBytes }
  }

  #trim(): void {
    const all = Buffer.concat(this.#chunks)
    const kept = all.subarray(Math.max(0, all.length - this.#maxBytes))
    this.#droppedBytes += all.length - kept.length
    this.#chunks = [Buffer.from(kept)]
    this.#bytes = kept.length
  }
}

/** Signals a program's group. Where the backend cannot reach it, SIGKILL at least hangs it up. */
export async function sendSignal(process: ExecProcess, signal: NodeJS.Signals): Promise<void> {
  if (!(await process.signal(signal)) && signal === 'SIGKILL') await process.hangUp()
}
