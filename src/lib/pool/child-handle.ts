import { fork, type ChildProcess, type ForkOptions } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { endGroup } from '../process/end-group.ts'
import { siblingModule } from '../process/sibling.ts'
import { type Confinement, forkConfined } from '../sandbox/confine.ts'
import type { SandboxOptions } from '../sandbox/sandbox.ts'
import { forkSandboxed } from '../sandbox/spawn-sandboxed.ts'
import type { ChildSettings, Order, Outcome, Report } from './protocol.ts'

/** Memory that V8 reserves for code in each thread, which Linux counts as data, plus the memory of an idle thread. */
const RESERVED_BYTES = 576 * 2 ** 20

/** Isolation of a pool's process: a sandbox, confinement, or neither. */
interface Cage {
  readonly sandbox?: SandboxOptions | undefined
  readonly confinement?: Confinement | undefined
}

/** Result of a task, including a crash of its process. */
export type TaskEnd = Outcome | { readonly is: 'crashed'; readonly how: string }

interface RunningTask {
  readonly end: (end: TaskEnd) => void
  readonly onProgress: ((progress: unknown) => void) | undefined
}

/** Parent's handle of a child process. It keeps the parent alive only while a task is running. */
export class ChildHandle {
  /** Resolves when the process has exited, with the reason ("by SIGSEGV"). */
  readonly gone: Promise<string>
  readonly #process: ChildProcess
  readonly #isSandboxed: boolean
  readonly #tasks = new Map<number, RunningTask>()
  #lastId = 0

  constructor(settings: ChildSettings, cage: Cage) {
    const module = fileURLToPath(siblingModule(import.meta.url, './child'))
    const argv = [JSON.stringify(settings)]
    const options = {
      // Preserves Map, Date, BigInt and typed arrays.
      serialization: 'advanced',
      // stdout belongs to the parent, where a CLI's output may be parsed.
      stdio: ['ignore', 2, 2, 'ipc'],
    } as const
    this.#isSandboxed = cage.sandbox !== undefined
    this.#process = start(module, argv, cage, settings.maxThreads + 1, options)
    this.#process.on('message', (report: Report) => {
      const task = this.#tasks.get(report.id)
      if ('outcome' in report) task?.end(report.outcome)
      else task?.onProgress?.(report.progress)
    })
    this.gone = new Promise((resolve) => {
      this.#process.on('exit', (code, signal) =>
        resolve(signal === null ? `with status ${code}` : `by ${signal}`),
      )
      this.#process.on('error', (error) => resolve(`at once: ${error.message}`))
    })
    void this.#endTasks()
    this.#holdWhileBusy()
  }

  get pid(): number | undefined {
    return this.#process.pid
  }

  /** Runs a task. If `stop` aborts first, rejects with its reason and terminates the thread. */
  async run(
    worker: string,
    task: unknown,
    stop: AbortSignal,
    onProgress?: (progress: unknown) => void,
  ): Promise<TaskEnd> {
    stop.throwIfAborted()
    const id = ++this.#lastId
    const end = Promise.withResolvers<TaskEnd>()
    const cancel = () => {
      this.#send({ do: 'cancel', id })
      end.reject(stop.reason)
    }
    stop.addEventListener('abort', cancel, { once: true })
    this.#tasks.set(id, { end: end.resolve, onProgress })
    this.#holdWhileBusy()
    try {
      this.#send({ do: 'run', id, worker, task, isFollowed: onProgress !== undefined })
      return await end.promise
    } finally {
      stop.removeEventListener('abort', cancel)
      this.#tasks.delete(id)
      this.#holdWhileBusy()
    }
  }

  /** Kills the process with all its tasks. */
  kill(): void {
    if (this.#isSandboxed) endGroup(this.#process.pid, 'SIGKILL')
    else this.#process.kill('SIGKILL')
    // A child of bubblewrap that left the group exits by itself.
    if (this.#process.connected) this.#process.disconnect()
  }

  async #endTasks(): Promise<void> {
    const how = await this.gone
    for (const { end } of this.#tasks.values()) end({ is: 'crashed', how })
  }

  #send(order: Order): void {
    // With a callback, a closed channel emits no error event; `gone` then rejects the tasks.
    this.#process.send(order, () => undefined)
  }

  #holdWhileBusy(): void {
    const hold = this.#tasks.size > 0 ? 'ref' : 'unref'
    this.#process[hold]()
    this.#process.channel?.[hold]()
  }
}

function start(
  module: string,
  argv: readonly string[],
  { sandbox, confinement }: Cage,
  threads: number,
  options: Pick<ForkOptions, 'serialization'> & { readonly stdio: readonly ['ignore', 2, 2, 'ipc'] },
): ChildProcess {
  if (sandbox !== undefined) {
    const { limits } = sandbox
    return forkSandboxed(
      module,
      argv,
      limits === undefined ? sandbox : { ...sandbox, limits: withReserved(limits, threads) },
      options,
    )
  }
  const plain = { ...options, stdio: [...options.stdio] }
  if (confinement !== undefined) {
    const limits = withReserved(confinement.limits, threads)
    return forkConfined(module, argv, { ...confinement, limits }, { ...plain, execArgv: [] })
  }
  return fork(module, argv, {
    ...plain,
    // Without the parent's --inspect, whose port is in use.
    execArgv: [],
    // Without the parent's malloc settings (mallopt(3)): here every buffer would be allocated from the system.
    env: { ...process.env, MALLOC_ARENA_MAX: undefined, MALLOC_TRIM_THRESHOLD_: undefined },
  })
}

function withReserved<Bounds extends { readonly dataBytes: number }>(
  limits: Bounds,
  threads: number,
): Bounds {
  return { ...limits, dataBytes: limits.dataBytes + threads * RESERVED_BYTES }
}
