import { once } from 'node:events'
import { existsSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { setImmediate, setTimeout as delay } from 'node:timers/promises'
// oxlint-disable-next-line no-unassigned-import -- settles which ciphers ssh2 may take, before dockerode loads it
import '../../../../lib/ssh/ciphers.ts'
import Docker from 'dockerode'
import { messageOf } from '../../../../lib/errors/message.ts'
import { request } from '../../../../lib/http/node-http.ts'
import { fault, unavailable } from '../../../errors.ts'
import { acceptsConnections } from './accepts-connections.ts'

/** How long the engine is waited for. */
export interface EngineTiming {
  readonly pingEveryMs: number
  readonly lookEveryMs: number
  /** How long an engine may say nothing that accepts no connections: requests must fail within 3 s when it hangs (fault F15). */
  readonly silenceMs: number
  /** How long one may say nothing that does accept them: it is slow, on a busy machine for instance, and not dead. */
  readonly patienceMs: number
  /** How long a read may take while the engine answers others at once; a slow engine gets longer. */
  readonly readDeadlineMs: number
}

const TIMING: EngineTiming = {
  pingEveryMs: 800,
  lookEveryMs: 200,
  silenceMs: 2_400,
  patienceMs: 60_000,
  readDeadlineMs: 10_000,
}
/** How many times longer than a ping a read may take, on top of its deadline. */
const READ_TO_PING = 3
/** What making, starting and stopping containers may take. */
export const CHANGE_DEADLINE_MS = 120_000
/** How long the answer is awaited of a change that was given up: less than the time that a server has to stop. */
const GRACE_MS = 5_000
/** None but the engine's own life: what is removed may hold millions of files. */
export const REMOVAL_DEADLINE_MS = 0

/** What a failed engine call carries: the HTTP status the engine answered with, or the system's error code. */
interface EngineError {
  readonly statusCode?: number
  readonly code?: string
  readonly json?: { readonly message?: string }
}

/**
 * The connection to a Docker-compatible engine. It pings the engine about once a second. A slow engine is waited for as long as it
 * accepts connections; while it is away, calls fail at once and those under way are given up, so that nothing hangs with it.
 */
export class DockerEngine {
  readonly docker: Docker
  /** Where the engine is reached, for messages. */
  readonly address: string
  readonly #timing: EngineTiming
  readonly #options: Docker.DockerOptions
  readonly #underWay = new Set<AbortController>()
  readonly #stopped = new AbortController()
  /** When each ping was sent that is not answered yet, oldest first. */
  readonly #pingsSentMs = new Set<{ readonly sentMs: number }>()
  #isAvailable = false
  /** Why it is away, as the end of a sentence. */
  #why = 'it has not been asked yet'
  /** When the engine last answered anything, or since when it has been waited for. */
  #lastSignMs = Number.NEGATIVE_INFINITY
  /** Whether the last look found that it accepts connections, where that can be told. */
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
  }

  get isAvailable(): boolean {
    return this.#isAvailable
  }

  /** Why nothing can be asked of it, or undefined while it can. */
  get whyUnavailable(): string | undefined {
    return this.#isAvailable
      ? undefined
      : `the container engine at ${this.address} does not answer: ${this.#why}`
  }

  /** Whether its containers run on this machine, as far as the address says. */
  get isLocal(): boolean {
    return this.address.startsWith('unix://')
  }

  /** Begins to watch the engine; returns when it first answered, refused, or turned out to be slow. */
  async open(onAvailability: (isAvailable: boolean) => void): Promise<void> {
    const beganMs = performance.now()
    this.#lastSignMs = beganMs
    const answered = this.#ping()
    const { signal } = this.#stopped
    await Promise.race([answered, delay(this.#timing.silenceMs, undefined, { signal, ref: false })])
    if (this.#isSilent(beganMs)) await this.#noteAccepting()
    this.#isAvailable = this.#isAlive()
    this.#monitor = this.#watch(onAvailability)
  }

  async close(): Promise<void> {
    this.#stopped.abort()
    await this.#monitor
  }

  /**
   * Runs one call. `what` names it in the error; `deadlineMs` bounds it, or 0 leaves that to `signal` and the watch.
   *
   * @throws BACKEND_UNAVAILABLE when the engine does not answer, else BACKEND_ERROR with the engine's own words
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
   * Runs a call that creates or starts something. After `signal` is aborted it waits a while for the answer: the engine completes a request
   * that it has begun, and its result must not appear after the caller has removed what existed.
   */
  make<T>(what: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return this.call(what, work, { deadlineMs: CHANGE_DEADLINE_MS, signal, graceMs: GRACE_MS })
  }

  async #watch(onAvailability: (isAvailable: boolean) => void): Promise<void> {
    const { signal } = this.#stopped
    const { pingEveryMs, lookEveryMs } = this.#timing
    let nextPingMs = performance.now() + pingEveryMs
    while (!signal.aborted) {
      if (performance.now() >= nextPingMs) {
        nextPingMs = performance.now() + pingEveryMs
        void this.#ping()
      }
      await delay(lookEveryMs, undefined, { signal }).catch(() => undefined)
      // What arrived while this process was busy is taken before anything is concluded from its absence.
      await setImmediate()
      if (this.#isSilent(this.#lastSignMs)) await this.#noteAccepting()
      const isAlive = this.#isAlive()
      if (isAlive === this.#isAvailable || signal.aborted) continue
      this.#isAvailable = isAlive
      if (!isAlive) for (const controller of this.#underWay) controller.abort()
      onAvailability(isAlive)
    }
  }

  /** Whether nothing has come for so long that pings should have been answered. */
  #isSilent(sinceMs: number): boolean {
    return performance.now() - sinceMs > this.#timing.silenceMs / 2
  }

  async #noteAccepting(): Promise<void> {
    const { socketPath } = this.#options
    this.#accepts = socketPath === undefined ? undefined : await acceptsConnections(socketPath)
  }

  /** Judges by what it last said, whether anyone listens, and whether connections are accepted. */
  #isAlive(): boolean {
    const { silenceMs, patienceMs } = this.#timing
    const silentMs = performance.now() - this.#lastSignMs
    // Where it cannot be told whether connections are accepted, only an engine that has been slow before gets more time.
    const known = this.#accepts === true ? patienceMs : silenceMs
    const limitMs = this.#accepts === false ? silenceMs : Math.max(known, READ_TO_PING * this.#lastPingMs)
    if (this.#refusal !== undefined) this.#why = `nothing listens there (${this.#refusal})`
    else if (silentMs < limitMs) return true
    else if (this.#accepts === false) this.#why = 'it accepts no connections'
    else this.#why = `it has been silent for ${Math.round(silentMs / 1_000)} s`
    return false
  }

  #noteSign(): void {
    this.#lastSignMs = performance.now()
    this.#refusal = undefined
  }

  /** How long the engine takes for what costs it nothing: the last ping, or the oldest that is still unanswered. */
  #pingTakesMs(): number {
    const [oldest] = this.#pingsSentMs
    return Math.max(this.#lastPingMs, oldest === undefined ? 0 : performance.now() - oldest.sentMs)
  }

  /** Aborts a call after its deadline, and later where the engine is slow with everything. */
  #limit(controller: AbortController, deadlineMs: number): () => void {
    const beganMs = performance.now()
    const check = (): void => {
      const leftMs = beganMs + deadlineMs + READ_TO_PING * this.#pingTakesMs() - performance.now()
      if (leftMs > 0) timer = setTimeout(check, leftMs)
      else controller.abort(SLOW_ANSWER)
    }
    let timer = setTimeout(check, deadlineMs)
    return () => clearTimeout(timer)
  }

  /** Asks for a sign of life, over a connection that must be accepted. That nobody listens is a sign too. */
  async #ping(): Promise<void> {
    const ping = { sentMs: performance.now() }
    this.#pingsSentMs.add(ping)
    const { patienceMs } = this.#timing
    const signal = AbortSignal.any([this.#stopped.signal, AbortSignal.timeout(patienceMs)])
    try {
      const { socketPath, host, port } = this.#options
      const asked = request({ socketPath, host, port, path: '/_ping', agent: false, signal }).end()
      const [answer] = (await once(asked, 'response')) as [IncomingMessage]
      answer.resume().on('error', () => undefined)
      this.#lastPingMs = performance.now() - ping.sentMs
      this.#noteSign()
    } catch (error) {
      const { code } = error as EngineError
      if (code === 'ECONNREFUSED' || code === 'ENOENT') this.#refusal = code
    } finally {
      this.#pingsSentMs.delete(ping)
    }
  }

  #unavailable(what: string, why = this.whyUnavailable, cause?: unknown) {
    const reason = why ?? `the container engine at ${this.address} does not answer (${messageOf(cause)})`
    return unavailable(`${what} is not possible: ${reason}`, cause)
  }
}

/** Why a call was given up whose engine answers others. */
const SLOW_ANSWER = 'the container engine answers, but not this request in time'

/** The HTTP status inside a failed call's fault, or undefined. */
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

/** Sockets that Docker or Podman listen on, in the order they are tried. */
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
