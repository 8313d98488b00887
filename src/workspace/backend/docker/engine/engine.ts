import { existsSync } from 'node:fs'
import { setImmediate, setTimeout as delay } from 'node:timers/promises'
// oxlint-disable-next-line no-unassigned-import -- settles which ciphers ssh2 may take, before dockerode loads it
import '../../../../lib/ssh/ciphers.ts'
import Docker from 'dockerode'
import { messageOf } from '../../../../lib/errors/message.ts'
import { fault } from '../../../errors.ts'

const PING_EVERY_MS = 800
const LOOK_EVERY_MS = 200
/**
 * For how long nothing may have come from the engine. A busy host's engine takes its time for a ping, but answers
 * something; and a request must fail within 3 s when it hangs (fault F15).
 */
const SILENCE_MS = 2_400
const READ_DEADLINE_MS = 10_000
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
 * The connection to a Docker-compatible engine. It asks the engine about once a second whether it lives; while it does not,
 * calls fail at once and those under way are given up, so that nothing hangs with it.
 */
export class DockerEngine {
  readonly docker: Docker
  /** Where the engine is reached, for messages. */
  readonly address: string
  readonly #underWay = new Set<AbortController>()
  readonly #stopped = new AbortController()
  #isAvailable = false
  /** When the engine last answered anything. */
  #lastSignMs = Number.NEGATIVE_INFINITY
  #monitor: Promise<void> | undefined

  constructor(host: string | undefined) {
    const { options, address } = connection(host)
    this.docker = new Docker(options)
    this.address = address
  }

  get isAvailable(): boolean {
    return this.#isAvailable
  }

  /** Whether its containers run on this machine, as far as the address says. */
  get isLocal(): boolean {
    return this.address.startsWith('unix://')
  }

  /** Begins to watch the engine; returns when it first answered or failed to. */
  async open(onAvailability: (isAvailable: boolean) => void): Promise<void> {
    await this.#ping()
    this.#isAvailable = performance.now() - this.#lastSignMs < SILENCE_MS
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
    const { deadlineMs = READ_DEADLINE_MS, signal, graceMs = 0 } = options
    const controller = new AbortController()
    const deadline = deadlineMs > 0 ? setTimeout(() => controller.abort(), deadlineMs) : undefined
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
      this.#lastSignMs = performance.now()
      if (graceMs > 0) signal?.throwIfAborted()
      return result
    } catch (error) {
      if (signal?.aborted === true) throw signal.reason
      if ((error as EngineError).statusCode !== undefined) this.#lastSignMs = performance.now()
      throw controller.signal.aborted || isConnectionError(error)
        ? this.#unavailable(what, error)
        : fault('BACKEND_ERROR', `${what} failed: ${engineMessage(error)}`, error)
    } finally {
      clearTimeout(deadline)
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
    let nextPingMs = performance.now() + PING_EVERY_MS
    while (!signal.aborted) {
      if (performance.now() >= nextPingMs) {
        nextPingMs = performance.now() + PING_EVERY_MS
        void this.#ping()
      }
      await delay(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined)
      // What arrived while this process was busy is taken before anything is concluded from its absence.
      await setImmediate()
      const isAlive = performance.now() - this.#lastSignMs < SILENCE_MS
      if (isAlive === this.#isAvailable || signal.aborted) continue
      this.#isAvailable = isAlive
      if (!isAlive) for (const controller of this.#underWay) controller.abort()
      onAvailability(isAlive)
    }
  }

  /** Asks for a sign of life; that nobody listens is a sign too. */
  async #ping(): Promise<void> {
    const signal = AbortSignal.any([this.#stopped.signal, AbortSignal.timeout(SILENCE_MS)])
    try {
      // The types know only the callback form.
      await (this.docker.ping as (options: object) => Promise<unknown>).call(this.docker, {
        abortSignal: signal,
      })
      this.#lastSignMs = performance.now()
    } catch (error) {
      const { code } = error as EngineError
      if (code === 'ECONNREFUSED' || code === 'ENOENT') this.#lastSignMs = Number.NEGATIVE_INFINITY
    }
  }

  #unavailable(what: string, cause?: unknown) {
    return fault(
      'BACKEND_UNAVAILABLE',
      `${what} is not possible: the container engine at ${this.address} does not answer`,
      cause,
    )
  }
}

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
