import { type ChildProcess, fork } from 'node:child_process'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { isFault } from '../../../lib/errors/fault.ts'
import type { Logger } from '../../../lib/log/logger.ts'
import { siblingModule } from '../../../lib/process/sibling.ts'
import type { ResolveResult, WorkerCommand, WorkerReport, WorkerSettings } from './ssh-worker-protocol.ts'
import type { LoginName, NameResolver } from './workspace-resolver.ts'
import type { ConnectionHandler } from './server.ts'

const RESTART_MS = 500
/**
 * Each megabyte transferred allocates two megabytes of buffers. By default V8 reacts by marking its whole heap after every 64 MB,
 * many times a second and on all processors, although a scavenge would free them. So buffers count as part of the heap, the heap
 * may grow before it is first marked, and scavenges are frequent.
 */
const BUFFER_FLAGS = ['--initial-old-space-size=128', '--max-semi-space-size=2']
/** A V8 flag since Node 24. */
const COUNTED_BUFFERS = '--external-memory-accounted-in-global-limit'
const hasCountedBuffers = Number(process.versions.node.split('.')[0]) >= 24
/** Node's exit status for an unknown flag. */
const UNKNOWN_FLAG = 9
const STOP_MS = 3_000

type Events = Parameters<ConnectionHandler['admit']>[1]

/** A child process and its connections. */
interface Worker {
  readonly process: ChildProcess
  readonly connections: Map<number, Events>
  /** Connections that it has not received yet. Node.js would leave them open forever if the process exited first. */
  readonly waiting: Map<number, Socket>
}

/**
 * A pool of child processes that speak SSH, each with a share of the connections, so that a busy transfer slows neither the
 * other workers nor the server. A worker that dies loses its connections and is replaced.
 */
export class SshWorkerPool implements ConnectionHandler {
  readonly #settings: WorkerSettings
  readonly #resolveName: NameResolver
  readonly #logger: Logger
  readonly #workers = new Set<Worker>()
  #flags: readonly string[] = hasCountedBuffers ? [...BUFFER_FLAGS, COUNTED_BUFFERS] : BUFFER_FLAGS
  #lastConnection = 0
  #isStopping = false

  constructor(count: number, settings: WorkerSettings, resolveName: NameResolver, logger: Logger) {
    this.#settings = settings
    this.#resolveName = resolveName
    this.#logger = logger
    for (let i = 0; i < count; i++) this.#start()
  }

  admit(socket: Socket, events: Events): () => void {
    const worker = this.#leastBusy()
    if (worker === undefined) {
      // Its caller is notified later, like of every other end.
      socket.once('close', events.onClosed).destroy()
      return () => undefined
    }
    const connection = ++this.#lastConnection
    worker.connections.set(connection, events)
    worker.waiting.set(connection, socket)
    send(worker, { do: 'serve', connection }, socket)
    return () => send(worker, { do: 'drop', connection })
  }

  /** Asks the workers to close their connections and exit; kills those still running after 3 s. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await Promise.all(
      [...this.#workers].map(async (worker) => {
        const exited = new Promise((resolve) => worker.process.once('exit', resolve))
        send(worker, { do: 'stop' })
        const kill = setTimeout(() => worker.process.kill('SIGKILL'), STOP_MS)
        await exited
        clearTimeout(kill)
      }),
    )
  }

  #start(): void {
    const process = fork(
      fileURLToPath(siblingModule(import.meta.url, './ssh-worker')),
      [],
      // stdout belongs to the server; the worker logs through it.
      { execArgv: [...this.#flags], stdio: ['ignore', 2, 2, 'ipc'] },
    )
    const worker: Worker = { process, connections: new Map(), waiting: new Map() }
    this.#workers.add(worker)
    send(worker, { do: 'start', settings: this.#settings })
    process.on('message', (report: WorkerReport) => this.#handle(worker, report))
    process.on('error', (error) =>
      this.#logger.error({ err: error }, 'failed to start an SSH worker process'),
    )
    process.once('exit', (code, signal) => {
      this.#workers.delete(worker)
      for (const socket of worker.waiting.values()) socket.destroy()
      for (const events of worker.connections.values()) events.onClosed()
      if (this.#isStopping) return
      if (code === UNKNOWN_FLAG) this.#flags = []
      this.#logger.error(
        { code, signal },
        'an SSH worker process exited and its connections were lost; starting another',
      )
      void delay(RESTART_MS).then(() => (this.#isStopping ? undefined : this.#start()))
    })
  }

  #handle(worker: Worker, report: WorkerReport): void {
    switch (report.is) {
      case 'received':
        // Closes only this process's descriptor.
        worker.waiting.get(report.connection)?.destroy()
        worker.waiting.delete(report.connection)
        break
      case 'proven':
        worker.connections.get(report.connection)?.onProven(report.login)
        break
      case 'refused':
        worker.connections.get(report.connection)?.onRefused(report.refusal)
        break
      case 'entry':
        worker.connections.get(report.connection)?.onEntry(report.code)
        break
      case 'closed':
        worker.connections.get(report.connection)?.onClosed()
        worker.connections.delete(report.connection)
        break
      case 'resolve':
        void this.#resolve(report.login).then((result) =>
          send(worker, { do: 'resolved', request: report.request, result }),
        )
        break
      case 'log':
        this.#log(report.line)
        break
    }
  }

  async #resolve(login: LoginName): Promise<ResolveResult> {
    try {
      return { is: 'found', ...(await this.#resolveName(login)) }
    } catch (error) {
      if (isFault(error)) return { is: 'failed', code: error.code, kind: error.kind, message: error.message }
      this.#logger.error({ err: error, workspace: login.user }, 'a workspace could not be entered')
      return {
        is: 'failed',
        code: 'INTERNAL_ERROR',
        kind: 'internal',
        message: 'the server failed; see its log',
      }
    }
  }

  /** Repeats a worker's log line through the server's logger. */
  #log(line: string): void {
    const {
      level,
      time: _time,
      msg,
      ...details
    } = JSON.parse(line) as { level: number; time: string; msg?: string }
    const name = this.#logger.levels.labels[level] as 'debug' | 'info' | 'warn' | 'error' | undefined
    this.#logger[name ?? 'info'](details, msg)
  }

  #leastBusy(): Worker | undefined {
    return [...this.#workers]
      .filter((worker) => worker.process.connected)
      .toSorted((a, b) => a.connections.size - b.connections.size)[0]
  }
}

function send({ process }: Worker, command: WorkerCommand, socket?: Socket): void {
  if (process.connected) process.send(command, socket, { keepOpen: true }, () => undefined)
}
