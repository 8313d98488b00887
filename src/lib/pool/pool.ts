import { availableParallelism } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { ignore } from '../errors/ignore.ts'
import type { Confinement } from '../sandbox/confine.ts'
import type { SandboxOptions } from '../sandbox/sandbox.ts'
import { ChildHandle } from './child-handle.ts'
import { fault } from './errors.ts'
import { unpackError } from './portable-error.ts'
import { RestartDelay } from './restart-delay.ts'

/** Options of a pool. */
export interface PoolOptions {
  /** For messages and the log. */
  readonly name: string
  /** Maximum number of parallel tasks; further tasks wait. Default: the number of CPUs, at most 4. */
  readonly maxThreads?: number
  /** JavaScript heap limit per thread in MiB, without buffers and native memory. */
  readonly maxHeapMb?: number
  /** Niceness of the process, 0 to 19; default 0. */
  readonly niceness?: number
  /** Worker files that each thread loads at startup. */
  readonly preload?: readonly URL[]
  /**
   * Runs the process in a sandbox. `limits.dataBytes` covers only the work: V8's reservation per thread is added.
   * Callers check `sandboxMissing` first.
   */
  readonly sandbox?: SandboxOptions
  /** Confines the process instead, as far as this machine supports it (`confinementLevel`). `limits.dataBytes` as for `sandbox`. */
  readonly confinement?: Confinement
  readonly logger?: { warn(details: object, message: string): void }
}

/** Options of a task. */
export interface RunOptions {
  /** Cancels the task and terminates its thread; the run rejects with the signal's reason. */
  readonly signal?: AbortSignal
  /** Measured from the call, including the wait for a thread. */
  readonly timeoutMs?: number
  /** Called with progress that the worker reports. */
  readonly onProgress?: ((progress: unknown) => void) | undefined
}

const CLOSE_TIMEOUT_MS = 2000

/** A thread pool in a child process, which starts with the first task and is replaced after a crash. */
export class Pool {
  readonly #options: PoolOptions
  readonly #closing = new AbortController()
  readonly #restart = new RestartDelay()
  #child: ChildHandle | undefined

  constructor(options: PoolOptions) {
    this.#options = options
  }

  /**
   * Calls the default export of a worker file with a task in the child process. Task and result are cloned.
   *
   * @throws the worker's exception (with code, errno, syscall, path and cause; a Fault stays a Fault), or
   *   POOL_CRASHED, POOL_TASK_FAILED, POOL_TIMEOUT, POOL_CLOSED
   */
  async run(worker: URL | string, task: unknown, options: RunOptions = {}): Promise<unknown> {
    const limit = new AbortController()
    const stop = AbortSignal.any([
      this.#closing.signal,
      limit.signal,
      ...(options.signal ? [options.signal] : []),
    ])
    const file = worker instanceof URL ? worker.href : pathToFileURL(worker).href
    const { name } = this.#options
    const timer =
      options.timeoutMs === undefined
        ? undefined
        : setTimeout(() => {
            const sentence = `pool "${name}": ${file} timed out after ${options.timeoutMs} ms`
            limit.abort(fault('POOL_TIMEOUT', sentence))
          }, options.timeoutMs)
    try {
      const child = await this.#readyChild(stop)
      const end = await child.run(file, task, stop, options.onProgress)
      if (end.is === 'crashed') {
        throw fault('POOL_CRASHED', `pool "${name}": its process exited ${end.how} while running ${file}`)
      }
      this.#restart.succeeded()
      if (end.is === 'done') return end.result
      const error = unpackError(end.error)
      if (end.is === 'thrown') throw error
      throw fault('POOL_TASK_FAILED', `pool "${name}": ${file} returned no result: ${error.message}`, error)
    } finally {
      clearTimeout(timer)
    }
  }

  /** Starts the process now, so that the first task does not wait for it. */
  warm(): void {
    this.#child ??= this.#start()
  }

  /** Closes the pool within 2 s and rejects running tasks with POOL_CLOSED. */
  async close(): Promise<void> {
    this.#closing.abort(fault('POOL_CLOSED', `pool "${this.#options.name}" is closed`))
    const child = this.#child
    if (child === undefined) return
    child.kill()
    // The timer also keeps this process alive until then; an idle child does not.
    const ended = new AbortController()
    const limit = delay(CLOSE_TIMEOUT_MS, undefined, { signal: ended.signal }).catch(
      ignore('the child has ended in time'),
    )
    await Promise.race([child.gone, limit])
    ended.abort()
  }

  async #readyChild(stop: AbortSignal): Promise<ChildHandle> {
    stop.throwIfAborted()
    while (this.#child === undefined) {
      const leftMs = this.#restart.leftMs(performance.now())
      if (leftMs === 0) this.#child = this.#start()
      // The caller gets the reason of `stop`, not the timer's error.
      else await delay(leftMs, undefined, { signal: stop }).catch(() => stop.throwIfAborted())
    }
    return this.#child
  }

  #start(): ChildHandle {
    const {
      maxThreads = Math.min(availableParallelism(), 4),
      maxHeapMb,
      niceness,
      preload = [],
    } = this.#options
    const settings = {
      maxThreads,
      preload: preload.map(({ href }) => href),
      ...(maxHeapMb === undefined ? {} : { maxHeapMb }),
      ...(niceness === undefined ? {} : { niceness }),
    }
    const child = new ChildHandle(settings, this.#options)
    void this.#forgetWhenGone(child)
    return child
  }

  async #forgetWhenGone(child: ChildHandle): Promise<void> {
    const how = await child.gone
    this.#child = undefined
    if (this.#closing.signal.aborted) return
    this.#restart.crashed(performance.now())
    const { name, logger } = this.#options
    logger?.warn({ pool: name, pid: child.pid, how }, 'pool process exited')
  }
}
