import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Logger } from '../../lib/log/logger.ts'
import { unpackError } from '../../lib/pool/portable-error.ts'
import { siblingModule } from '../../lib/process/sibling.ts'
import { fault } from '../errors.ts'
import type {
  Decompiled,
  DecompileOrder,
  DecompileReport,
  DecompileSettings,
  DecompileTask,
} from './decompile-protocol.ts'

export interface DecompilerOptions {
  /** Of the JavaScript heap, where WebAssembly keeps the decompiler's objects too. */
  readonly memoryMb: number
  /** For one class with all inside it. */
  readonly timeoutMs: number
  readonly logger: Logger
}

/** A process that nobody has asked for so long ends. */
const IDLE_MS = 60_000

type Locate = (name: string) => string | undefined

/** Decompiles one class at a time in a process of its own, which is killed when it takes too long. */
export class Decompiler {
  readonly #options: DecompilerOptions
  #child: { readonly process: ChildProcess; readonly release: number } | undefined
  #turn: Promise<unknown> = Promise.resolve()
  #idle: NodeJS.Timeout | undefined
  #lastId = 0
  #isClosed = false

  constructor(options: DecompilerOptions) {
    this.#options = options
  }

  /**
   * @param locate where a class is, by its internal name
   * @throws DECOMPILATION_FAILED, DECOMPILATION_TIMEOUT
   */
  run(task: DecompileTask, settings: DecompileSettings, locate: Locate): Promise<Decompiled> {
    const turn = this.#turn.then(() => this.#run(task, settings, locate))
    this.#turn = turn.catch(() => undefined)
    return turn
  }

  close(): void {
    this.#isClosed = true
    this.#end()
  }

  async #run(task: DecompileTask, settings: DecompileSettings, locate: Locate): Promise<Decompiled> {
    if (this.#isClosed) throw fault('DECOMPILATION_FAILED', 'the server is stopping')
    clearTimeout(this.#idle)
    const child = this.#ready(settings)
    const { timeoutMs } = this.#options
    const named = task.outermost.replaceAll('/', '.')
    const id = ++this.#lastId
    const end = Promise.withResolvers<Decompiled>()
    // A JVM has its own limit, and is ended by the child.
    const limitMs = timeoutMs + (task.vineflower === undefined ? 0 : 5_000)
    const timer = setTimeout(() => {
      end.reject(
        fault(
          'DECOMPILATION_TIMEOUT',
          `${named} was not decompiled in ${timeoutMs / 1_000} s; source.time_limit sets that, and format=stub needs none`,
        ),
      )
      this.#end()
    }, limitMs)
    const hear = (report: DecompileReport): void => {
      if (report.is === 'asking') {
        const located: DecompileOrder = { do: 'located', ask: report.ask, location: locate(report.name) }
        child.send(located, () => undefined)
      } else if (report.id === id && report.is === 'done') end.resolve(report.result)
      else if (report.id === id && report.is === 'failed') {
        const error = unpackError(report.error)
        end.reject(fault('DECOMPILATION_FAILED', `${named} cannot be decompiled: ${error.message}`, error))
      }
    }
    const lose = (status: number | null, signal: NodeJS.Signals | null): void => {
      const how = signal ?? `status ${status}`
      const sentence = `${named} cannot be decompiled: it ended its process (${how}), for example by taking more than source.memory_limit`
      end.reject(fault('DECOMPILATION_FAILED', sentence))
    }
    child.on('message', hear).on('exit', lose)
    try {
      const order: DecompileOrder = { do: 'decompile', id, task }
      child.send(order, () => undefined)
      return await end.promise
    } finally {
      clearTimeout(timer)
      child.off('message', hear).off('exit', lose)
      this.#idle = setTimeout(() => this.#end(), IDLE_MS).unref()
    }
  }

  #ready({ release }: DecompileSettings): ChildProcess {
    if (this.#child !== undefined && this.#child.release !== release) this.#end()
    this.#child ??= { process: this.#start({ release }), release }
    return this.#child.process
  }

  #start(settings: DecompileSettings): ChildProcess {
    const { memoryMb, logger } = this.#options
    const child = fork(
      fileURLToPath(siblingModule(import.meta.url, './decompile-child')),
      [JSON.stringify(settings)],
      {
        execArgv: [`--max-old-space-size=${memoryMb}`],
        serialization: 'advanced',
        // Standard output is the server's own, and says when it is ready.
        stdio: ['ignore', 2, 2, 'ipc'],
      },
    )
    child.on('error', (error) => logger.warn({ err: error }, 'the decompiler cannot be started'))
    child.once('exit', (status, signal) => {
      if (this.#child?.process === child) this.#child = undefined
      if (status !== 0 && !this.#isClosed) logger.info({ pid: child.pid, status, signal }, 'decompiler ended')
    })
    child.unref()
    child.channel?.unref()
    return child
  }

  /** Lets it end a JVM that runs in it, and kills it where it does not end by itself. */
  #end(): void {
    clearTimeout(this.#idle)
    const child = this.#child?.process
    this.#child = undefined
    if (child === undefined) return
    if (child.connected) child.disconnect()
    const kill = setTimeout(() => child.kill('SIGKILL'), 200)
    child.once('exit', () => clearTimeout(kill))
  }
}
