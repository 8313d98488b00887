import { connect } from 'node:net'
import type { AlarmClock } from '../../lib/clock/clock.ts'
import { pause } from '../../lib/clock/pause.ts'
import { hostOptions } from '../../lib/connection/localhost.ts'
import type { RunningProgram } from '../process/process-runner.ts'
import type { SupervisedProcess } from '../process/supervised-process.ts'

const TRY_EVERY_MS = 20
const CONNECT_LIMIT_MS = 1_000

/** Target of a request. */
export interface ProxyTarget {
  readonly subdomain: string
  readonly process: SupervisedProcess
  readonly port: number
  /** Maximum time that a request waits for it. */
  readonly holdMs: number
}

/** Determines whether the current run of a process accepts connections, by opening one. */
export class ListeningRuns {
  readonly #clock: AlarmClock
  readonly #onKnown: () => void
  /** Runs that accept connections, or had enough time to do so. */
  readonly #settled = new WeakSet<RunningProgram>()
  /** Runs that have accepted a connection. */
  readonly #accepted = new WeakSet<RunningProgram>()
  readonly #tried = new WeakSet<RunningProgram>()

  /** @param onKnown called when it is known of another run */
  constructor(clock: AlarmClock, onKnown: () => void) {
    this.#clock = clock
    this.#onKnown = onKnown
  }

  /** Whether requests need not wait for a run: it listens, or has not listened for too long. */
  isSettled(program: RunningProgram): boolean {
    return this.#settled.has(program)
  }

  /** Whether a run has ever accepted a connection. */
  hasAccepted(program: RunningProgram | undefined): boolean {
    return program !== undefined && this.#accepted.has(program)
  }

  /** Tries to connect until it succeeds, the run is over, or `limitMs` have passed. */
  watch(target: ProxyTarget, limitMs: number): void {
    const { program } = target.process
    if (program === undefined || this.#settled.has(program) || this.#tried.has(program)) return
    this.#tried.add(program)
    void this.#try(target, program, this.#clock.nowMs() + limitMs)
  }

  /** Forgets that a run listens, because it refused a connection. */
  forget(program: RunningProgram): void {
    this.#settled.delete(program)
  }

  async #try(target: ProxyTarget, program: RunningProgram, endMs: number): Promise<void> {
    for (;;) {
      const isOpen = await accepts(target.port)
      if (isOpen) this.#accepted.add(program)
      // The next state of the process decides.
      const isOver = target.process.program !== program
      if (isOpen || isOver || this.#clock.nowMs() >= endMs) break
      await pause(this.#clock, TRY_EVERY_MS)
    }
    this.#tried.delete(program)
    this.#settled.add(program)
    this.#onKnown()
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ ...hostOptions('localhost'), port, timeout: CONNECT_LIMIT_MS })
    socket.on('error', () => resolve(false))
    socket.on('timeout', () => {
      socket.destroy()
      resolve(false)
    })
    socket.on('connect', () => {
      resolve(true)
      // A reset is an error for some programs.
      socket.resume().end()
    })
  })
}
