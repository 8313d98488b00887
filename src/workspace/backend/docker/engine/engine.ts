import { once } from 'node:events'
import { existsSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { setImmediate } from 'node:timers/promises'
// oxlint-disable-next-line no-unassigned-import -- selects the ciphers that ssh2 may use, before dockerode loads it
import '../../../../lib/ssh/ciphers.ts'
import Docker from 'dockerode'
import { AwakeClock } from '../../../../lib/clock/awake-clock.ts'
import { systemClock } from '../../../../lib/clock/clock.ts'
import { pause } from '../../../../lib/clock/pause.ts'
import { messageOf } from '../../../../lib/errors/message.ts'
import { request } from '../../../../lib/http/node-http.ts'
import { fault, unavailable } from '../../../errors.ts'
import { acceptsConnections } from './accepts-connections.ts'

/** Timeouts of the engine connection. */
export interface EngineTiming {
  readonly pingEveryMs: number
  readonly lookEveryMs: number
  /**
   * Silence tolerated from an engine that accepts no connections: requests must fail within 3 s when it hangs
   * (fault F15).
   */
  readonly silenceMs: number
  /**
   * Silence tolerated from an engine that does accept connections: it is slow, for instance on a busy
   * machine, but alive.
   */
  readonly patienceMs: number
  /** Deadline of a read while the engine answers other calls promptly; extended for a slow engine. */
  readonly readDeadlineMs: number
}

const TIMING: EngineTiming = {
  pingEveryMs: 800,
  lookEveryMs: 200,
  silenceMs: 2_400,
  patienceMs: 60_000,
  readDeadlineMs: 10_000,
}
/** Looks that a busy process may miss before it no longer counts the time. */
const MISSED_LOOKS = 5
/** How many ping durations are added to a read's deadline. */
const READ_TO_PING = 3
/** Deadline for creating, starting and stopping containers. */
export const CHANGE_DEADLINE_MS = 120_000
/** How long to wait for the answer to an abandoned change: less than the server's own stop timeout. */
const GRACE_MS = 5_000
/** No deadline: a removal may delete millions of files. */
export const REMOVAL_DEADLINE_MS = 0

/** Fields of a failed engine call: the HTTP status of the engine's response, or the system's error code. */
interface EngineError {
  readonly statusCode?: number
  readonly code?: string
  readonly json?: { readonly message?: string }
}

/**
 * A connection to a Docker-compatible engine, which it pings about once a second. It waits for a slow engine
 * as long as that accepts connections. While the engine is away, calls fail immediately and pending ones are
 * aborted, so that nothing hangs with it.
 */
export class DockerEngine {
  readonly docker: Docker
  /** The engine's address, for messages. */
  readonly address: string
  readonly #timing: EngineTiming
  /** Counts no time in which this process could not notice an answer. */
  readonly #clock: AwakeClock
  readonly #options: Docker.DockerOptions
  readonly #underWay = new Set<AbortController>()
  readonly #stopped = new AbortController()
  /** Send times of unanswered pings, oldest first. */
  readonly #pingsSentMs = new Set<{ readonly sentMs: number }>()
  #isAvailable = false
  /** Why the engine is away, as the end of a sentence. */
  #why = 'it has not been contacted yet'
  /** When the engine last answered anything, or when waiting for it started. */
  #lastSignMs = Number.NEGATIVE_INFINITY
  /** Whether the engine accepted connections at the last check; undefined if unknown. */
  #accepts: boolean | undefined
  /** Why the last ping could not be sent. */
  #refusal: string | undefined
  #lastPingMs = 0
  #monitor: Promise<void> | undefined

  constructor(host: string | undefined, timing: EngineTiming = TIMING) {
    const { options, address } = connection(host)
    this.docker = new Docker(options)
    this.#options = options
    this.address = address
    this.#timing = timing
    this.#clock = new AwakeClock(MISSED_LOOKS * timing.lookEveryMs)
  }

  get isAvailable(): boolean {
    return this.#isAvailable
  }

  /** Why the engine is unavailable, or undefined while it is available. */
  get whyUnavailable(): string | undefined {
    return this.#isAvailable
      ? undefined
      : `the container engine at ${this.address} does not respond: ${this.#why}`
  }

  /** Whether its containers run on this machine, judging by the address. */
  get isLocal(): boolean {
    return this.address.startsWith('unix://')
  }

  /** Starts monitoring the engine; resolves when it first answers, refuses, or turns out to be slow. */
  async open(onAvailability: (isAvailable: boolean) => void): Promise<void> {
    this.#clock.tick()
    this.#lastSignMs = this.#clock.nowMs()
    const answered = this.#ping().then(() => true)
    let isAnswered = false
    while (!isAnswered && !this.#stopped.signal.aborted && this.#silentMs() < this.#timing.silenceMs)
      isAnswered = await Promise.race([answered, this.#pause().then(() => false)])
    if (this.#isSilent()) await this.#noteAccepting()
    this.#isAvailable = this.#isAlive()
    this.#monitor = this.#watch(onAvailability)
  }

  async close(): Promise<void> {
    this.#stopped.abort()
    await this.#monitor
  }

  /**
   * Runs one call. `what` names it in errors; `deadlineMs` bounds it, or 0 leaves that to `signal` and the
   * monitor.
   *
   * @throws BACKEND_UNAVAILABLE when the engine does not respond
   * @throws BACKEND_ERROR with the engine's message otherwise
   */
  async call<T>(
    what: string,
    work: (signal: AbortSignal) => Promise<T>,
    options: { readonly deadlineMs?: number; readonly signal?: AbortSignal; readonly graceMs?: number } = {},
  ): Promise<T> {
    if (!this.#isAvailable) throw this.#unavailable(what)
    const { deadlineMs = this.#timing.readDeadlineMs, signal, graceMs = 0 } = options
    const controller = new AbortController()
    const stopDeadline = deadlineMs > 0 ? this.#limit(controller, deadlineMs) : undefined
    let grace: NodeJS.Timeout | undefined
    const giveUp = (): void => {
      if (graceMs === 0) controller.abort()
      else grace = setTimeout(() => controller.abort(), graceMs)
    }
    signal?.addEventListener('abort', giveUp, { once: true })
    this.#underWay.add(controller)
    try {
      signal?.throwIfAborted()
      const result = await work(controller.signal)
      this.#noteSign()
      if (graceMs > 0) signal?.throwIfAborted()
      return result
    } catch (error) {
      if (signal?.aborted === true) throw signal.reason
      if ((error as EngineError).statusCode !== undefined) this.#noteSign()
      throw controller.signal.aborted || isConnectionError(error)
        ? this.#unavailable(what, controller.signal.reason === SLOW_ANSWER ? SLOW_ANSWER : undefined, error)
        : fault('BACKEND_ERROR', `${what} failed: ${engineMessage(error)}`, error)
    } finally {
      stopDeadline?.()
      clearTimeout(grace)
      signal?.removeEventListener('abort', giveUp)
      this.#underWay.delete(controller)
    }
  }

  /**
   * Runs a call that creates or starts something. After `signal` is aborted it waits briefly for the answer:
   * the engine completes a request that it has begun, and the result must not appear after the caller has
   * cleaned up.
   */
  make<T>(what: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return this.call(what, work, { deadlineMs: CHANGE_DEADLINE_MS, signal, graceMs: GRACE_MS })
  }

  async #watch(onAvailability: (isAvailable: boolean) => void): Promise<void> {
    const { signal } = this.#stopped
    const { pingEveryMs } = this.#timing
    let nextPingMs = this.#clock.nowMs() + pingEveryMs
    while (!signal.aborted) {
      if (this.#clock.nowMs() >= nextPingMs) {
        nextPingMs = this.#clock.nowMs() + pingEveryMs
        void this.#ping()
      }
      await this.#pause()
      // Answers that arrived while this process was busy are processed before their absence is judged.
      await setImmediate()
      if (this.#isSilent()) await this.#noteAccepting()
      const isAlive = this.#isAlive()
      if (isAlive === this.#isAvailable || signal.aborted) continue
      this.#isAvailable = isAlive
      if (!isAlive) for (const controller of this.#underWay) controller.abort()
      onAvailability(isAlive)
    }
  }

  /** Waits until the next look, or the end. */
  async #pause(): Promise<void> {
    await pause(systemClock, this.#timing.lookEveryMs, this.#stopped.signal)
    this.#clock.tick()
  }

  #silentMs(): number {
    return this.#clock.nowMs() - this.#lastSignMs
  }

  /** Whether nothing has arrived for so long that pings should have been answered. */
  #isSilent(): boolean {
    return this.#silentMs() > this.#timing.silenceMs / 2
  }

  async #noteAccepting(): Promise<void> {
    const { socketPath } = this.#options
    this.#accepts = socketPath === undefined ? undefined : await acceptsConnections(socketPath)
  }

  /**
   * Judges the engine by its last answer, by whether anything listens, and by whether connections are
   * accepted.
   */
  #isAlive(): boolean {
    const { silenceMs, patienceMs } = this.#timing
    const silentMs = this.#silentMs()
    // When accepting cannot be observed, only an engine that has been slow before gets more time.
    const silentLimitMs = this.#accepts === true ? patienceMs : silenceMs
    const limitMs =
      this.#accepts === false ? silenceMs : Math.max(silentLimitMs, READ_TO_PING * this.#lastPingMs)
    if (this.#refusal !== undefined) this.#why = `the connection is refused (${this.#refusal})`
    else if (silentMs < limitMs) return true
    else if (this.#accepts === false) this.#why = 'it does not accept connections'
    else this.#why = `it has been silent for ${Math.round(silentMs / 1_000)} s`
    return false
  }

  #noteSign(): void {
    this.#lastSignMs = this.#clock.nowMs()
    this.#refusal = undefined
  }

  /** Returns how long the engine needs for a trivial request: the last ping, or the oldest unanswered one. */
  #pingTakesMs(): number {
    const [oldest] = this.#pingsSentMs
    return Math.max(this.#lastPingMs, oldest === undefined ? 0 : this.#clock.nowMs() - oldest.sentMs)
  }

  /** Aborts a call after its deadline, extended while the engine is slow with everything. */
  #limit(controller: AbortController, deadlineMs: number): () => void {
    const beganMs = this.#clock.nowMs()
    const check = (): void => {
      const leftMs = beganMs + deadlineMs + READ_TO_PING * this.#pingTakesMs() - this.#clock.nowMs()
      if (leftMs > 0) timer = setTimeout(check, leftMs)
      else controller.abort(SLOW_ANSWER)
    }
    let timer = setTimeout(check, deadlineMs)
    return () => clearTimeout(timer)
  }

  /**
   * Sends a ping over a new connection, which the engine must accept. A refused connection is a result, too.
   */
  async #ping(): Promise<void> {
    const ping = { sentMs: this.#clock.nowMs() }
    this.#pingsSentMs.add(ping)
    const { patienceMs } = this.#timing
    const signal = AbortSignal.any([this.#stopped.signal, AbortSignal.timeout(patienceMs)])
    try {
      const { socketPath, host, port } = this.#options
      const asked = request({ socketPath, host, port, path: '/_ping', agent: false, signal }).end()
      const [answer] = (await once(asked, 'response')) as [IncomingMessage]
      answer.resume().on('error', () => undefined)
      this.#lastPingMs = this.#clock.nowMs() - ping.sentMs
      this.#noteSign()
    } catch (error) {
      const { code } = error as EngineError
      if (code === 'ECONNREFUSED' || code === 'ENOENT') this.#refusal = code
    } finally {
      this.#pingsSentMs.delete(ping)
    }
  }

  #unavailable(what: string, why = this.whyUnavailable, cause?: unknown) {
    const reason = why ?? `the container engine at ${this.address} does not respond (${messageOf(cause)})`
    return unavailable(`${what} failed: ${reason}`, cause)
  }
}

/** Reason for aborting a call while the engine answers others. */
const SLOW_ANSWER = 'the container engine responds, but did not answer this request in time'

/** Returns the HTTP status inside a failed call's error, or undefined. */
export function engineStatus(error: unknown): number | undefined {
  const cause = error instanceof Error ? (error.cause as EngineError | undefined) : undefined
  return cause?.statusCode
}

function engineMessage(error: unknown): string {
  return (error as EngineError).json?.message ?? messageOf(error)
}

function isConnectionError(error: unknown): boolean {
  const { code, statusCode } = error as EngineError
  return statusCode === undefined && typeof code === 'string' && /^(E[A-Z]+|ABORT_ERR|UND_ERR)/.test(code)
}

/** Sockets on which Docker or Podman usually listen, in the order they are tried. */
function knownSockets(): readonly string[] {
  const runtimeDir = process.getuid === undefined ? undefined : `/run/user/${process.getuid()}`
  return [
    '/var/run/docker.sock',
    ...(runtimeDir === undefined ? [] : [`${runtimeDir}/docker.sock`, `${runtimeDir}/podman/podman.sock`]),
    '/run/podman/podman.sock',
  ]
}

function connection(host: string | undefined): { options: Docker.DockerOptions; address: string } {
  const address =
    host ?? `unix://${knownSockets().find((path) => existsSync(path)) ?? '/var/run/docker.sock'}`
  if (address.startsWith('unix://'))
    return { options: { socketPath: address.slice('unix://'.length) }, address }
  const url = new URL(address.replace(/^tcp:/, 'http:'))
  return { options: { host: url.hostname, port: Number(url.port || 2375), protocol: 'http' }, address }
}
