import { type ChildProcess, fork } from 'node:child_process'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { isFault } from '../../../lib/errors/fault.ts'
import type { Logger } from '../../../lib/log/logger.ts'
import { siblingModule } from '../../../lib/process/sibling.ts'
import type { WorkspaceTable } from '../../lifecycle/table.ts'
import type { ChildSettings, Entry, Order, Report } from './crew-protocol.ts'
import { findEntry } from './gate.ts'
import type { ConnectionKeeper } from './server.ts'

const RESTART_MS = 500
/**
 * Each megabyte that passes is two of buffers. V8 takes that for a reason to mark its whole heap after every 64 MB, many times a
 * second and on all processors, although a look at the youngest objects would free them. So buffers count as part of the heap,
 * the heap may be larger than it begins before it is marked, and the youngest objects are looked at often.
 */
const BUFFER_FLAGS = ['--initial-old-space-size=128', '--max-semi-space-size=2']
/** V8's since Node 24. */
const COUNTED_BUFFERS = '--external-memory-accounted-in-global-limit'
const hasCountedBuffers = Number(process.versions.node.split('.')[0]) >= 24
/** What Node ends with when it does not know a flag. */
const UNKNOWN_FLAG = 9
const STOP_MS = 3_000

type Events = Parameters<ConnectionKeeper['admit']>[1]

/** One child process and the connections in it. */
interface Hand {
  readonly process: ChildProcess
  readonly connections: Map<number, Events>
}

/**
 * Child processes that speak SSH, each with its share of the connections, so that one that is busy with a transfer does
 * not slow the others, nor the server itself. One that dies takes its connections with it and is replaced.
 */
export class Crew implements ConnectionKeeper {
  readonly #settings: ChildSettings
  readonly #table: WorkspaceTable
  readonly #logger: Logger
  readonly #hands = new Set<Hand>()
  #flags: readonly string[] = hasCountedBuffers ? [...BUFFER_FLAGS, COUNTED_BUFFERS] : BUFFER_FLAGS
  #lastConnection = 0
  #isStopping = false

  constructor(count: number, settings: ChildSettings, table: WorkspaceTable, logger: Logger) {
    this.#settings = settings
    this.#table = table
    this.#logger = logger
    for (let i = 0; i < count; i++) this.#start()
  }

  admit(socket: Socket, events: Events): () => void {
    const hand = this.#leastBusy()
    if (hand === undefined) {
      socket.destroy()
      events.onClosed()
      return () => undefined
    }
    const connection = ++this.#lastConnection
    hand.connections.set(connection, events)
    send(hand, { do: 'serve', connection }, socket)
    return () => send(hand, { do: 'drop', connection })
  }

  /** Lets the children end their connections; one that has not ended in 3 s is killed. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await Promise.all(
      [...this.#hands].map(async (hand) => {
        const gone = new Promise((resolve) => hand.process.once('exit', resolve))
        send(hand, { do: 'stop' })
        const kill = setTimeout(() => hand.process.kill('SIGKILL'), STOP_MS)
        await gone
        clearTimeout(kill)
      }),
    )
  }

  #start(): void {
    const process = fork(
      fileURLToPath(siblingModule(import.meta.url, './crew-child')),
      [],
      // stdout is the server's own; the child logs through us.
      { execArgv: [...this.#flags], stdio: ['ignore', 2, 2, 'ipc'] },
    )
    const hand: Hand = { process, connections: new Map() }
    this.#hands.add(hand)
    send(hand, { do: 'begin', settings: this.#settings })
    process.on('message', (report: Report) => this.#take(hand, report))
    process.on('error', (error) => this.#logger.error({ err: error }, 'an SSH process could not be started'))
    process.once('exit', (code, signal) => {
      this.#hands.delete(hand)
      for (const events of hand.connections.values()) events.onClosed()
      if (this.#isStopping) return
      if (code === UNKNOWN_FLAG) this.#flags = []
      this.#logger.error(
        { code, signal },
        'an SSH process ended, and its connections with it; starting another',
      )
      void delay(RESTART_MS).then(() => (this.#isStopping ? undefined : this.#start()))
    })
  }

  #take(hand: Hand, report: Report): void {
    switch (report.is) {
      case 'proven':
        hand.connections.get(report.connection)?.onProven(report.login)
        break
      case 'refused':
        hand.connections.get(report.connection)?.onRefused(report.refusal)
        break
      case 'entry':
        hand.connections.get(report.connection)?.onEntry(report.code)
        break
      case 'closed':
        hand.connections.get(report.connection)?.onClosed()
        hand.connections.delete(report.connection)
        break
      case 'enter':
        send(hand, { do: 'entered', question: report.question, entry: this.#entry(report.user) })
        break
      case 'log':
        this.#log(report.line)
        break
    }
  }

  #entry(user: string): Entry {
    try {
      return { is: 'open', ...findEntry(this.#table, user) }
    } catch (error) {
      if (!isFault(error)) throw error
      return { is: 'closed', code: error.code, kind: error.kind, message: error.message }
    }
  }

  /** A line that a child's logger made, said again by the server's. */
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

  #leastBusy(): Hand | undefined {
    return [...this.#hands]
      .filter((hand) => hand.process.connected)
      .toSorted((a, b) => a.connections.size - b.connections.size)[0]
  }
}

function send({ process }: Hand, order: Order, socket?: Socket): void {
  if (process.connected) process.send(order, socket, undefined, () => undefined)
}
