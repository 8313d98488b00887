import { fork, type ChildProcess, type ForkOptions } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { endGroup } from '../process/end-group.ts'
import { siblingModule } from '../process/sibling.ts'
import { type Confinement, forkConfined } from '../sandbox/confine.ts'
import type { SandboxOptions } from '../sandbox/sandbox.ts'
import { forkSandboxed } from '../sandbox/spawn-sandboxed.ts'
import type { ChildSettings, Order, Outcome, Report } from './protocol.ts'

/** What V8 reserves for code in each thread, all of which Linux counts as data, used or not, and what an idle thread uses. */
const RESERVED_BYTES = 576 * 2 ** 20

/** How a pool's process is kept from the rest of this machine: one of the two, or nothing. */
interface Cage {
  readonly sandbox?: SandboxOptions | undefined
  readonly confinement?: Confinement | undefined
}

/** How a task ended, the death of its process among the ways. */
export type TaskEnd = Outcome | { readonly is: 'crashed'; readonly how: string }

interface RunningTask {
  readonly end: (end: TaskEnd) => void
  readonly onNews: ((news: unknown) => void) | undefined
}

/** The front process's end of one child process. It keeps the front process alive only while a task is in it. */
export class ChildHandle {
  /** Settles when the process is gone, with how it ended ("by SIGSEGV"). */
  readonly gone: Promise<string>
  readonly #process: ChildProcess
  readonly #isSandboxed: boolean
  readonly #tasks = new Map<number, RunningTask>()
  #lastId = 0

  constructor(settings: ChildSettings, cage: Cage) {
    const module = fileURLToPath(siblingModule(import.meta.url, './child'))
    const argv = [JSON.stringify(settings)]
    const options = {
      // Keeps Map, Date, BigInt and typed arrays as they are.
      serialization: 'advanced',
      // stdout is the front process's own: a CLI's may be parsed.
      stdio: ['ignore', 2, 2, 'ipc'],
    } as const
    this.#isSandboxed = cage.sandbox !== undefined
    this.#process = start(module, argv, cage, settings.maxThreads + 1, options)
    this.#process.on('message', (report: Report) => {
      const task = this.#tasks.get(report.id)
      if ('outcome' in report) task?.end(report.outcome)
      else task?.onNews?.(report.news)
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

  /** Runs a task to its end. Rejects with the reason of `stop` when that comes first; the thread is ended then. */
  async run(
    worker: string,
    task: unknown,
    stop: AbortSignal,
    onNews?: (news: unknown) => void,
  ): Promise<TaskEnd> {
    stop.throwIfAborted()
    const id = ++this.#lastId
    const end = Promise.withResolvers<TaskEnd>()
    const cancel = () => {
      this.#send({ do: 'cancel', id })
      end.reject(stop.reason)
    }
    stop.addEventListener('abort', cancel, { once: true })
    this.#tasks.set(id, { end: end.resolve, onNews })
    this.#holdWhileBusy()
    try {
      this.#send({ do: 'run', id, worker, task, isFollowed: onNews !== undefined })
      return await end.promise
    } finally {
      stop.removeEventListener('abort', cancel)
      this.#tasks.delete(id)
      this.#holdWhileBusy()
    }
  }

  /** Ends the process, whatever runs in it. */
  kill(): void {
    if (this.#isSandboxed) endGroup(this.#process.pid, 'SIGKILL')
    else this.#process.kill('SIGKILL')
    // A child of bubblewrap that has left the group by then terminates itself.
    if (this.#process.connected) this.#process.disconnect()
  }

  async #endTasks(): Promise<void> {
    const how = await this.gone
    for (const { end } of this.#tasks.values()) end({ is: 'crashed', how })
  }

  #send(order: Order): void {
    // With the callback a closed channel is no error event; `gone` then ends the tasks.
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
    // Not the front process's: a second --inspect would find its port taken.
    execArgv: [],
    // Nor how that one spares memory (mallopt(3)): here each buffer would be asked of the system anew.
    env: { ...process.env, MALLOC_ARENA_MAX: undefined, MALLOC_TRIM_THRESHOLD_: undefined },
  })
}

function withReserved<Bounds extends { readonly dataBytes: number }>(
  limits: Bounds,
  threads: number,
): Bounds {
  return { ...limits, dataBytes: limits.dataBytes + threads * RESERVED_BYTES }
}
