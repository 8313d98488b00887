import { existsSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import Docker from 'dockerode'
import { messageOf } from '../../../lib/errors/message.ts'
import { fault } from '../../errors.ts'

const PING_EVERY_MS = 1_000
/** With the ping's interval below the 3 s within which a request must fail when the engine hangs (fault F15). */
const PING_TIMEOUT_MS = 1_800
const READ_DEADLINE_MS = 10_000

/** What a failed engine call carries: the HTTP status the engine answered with, or the system's error code. */
interface EngineError {
  readonly statusCode?: number
  readonly code?: string
  readonly json?: { readonly message?: string }
}

/**
 * The connection to a Docker-compatible engine. It asks the engine once a second whether it lives; while it does not,
 * calls fail at once and those under way are given up, so that nothing hangs with it.
 */
export class DockerEngine {
  readonly docker: Docker
  /** Where the engine is reached, for messages. */
  readonly address: string
  readonly #underWay = new Set<AbortController>()
  readonly #stopped = new AbortController()
  #isAvailable = false
  #monitor: Promise<void> | undefined

  constructor(host: string | undefined) {
    const { options, address } = connection(host)
    this.docker = new Docker(options)
    this.address = address
  }

  get isAvailable(): boolean {
    return this.#isAvailable
  }

  /** Begins to watch the engine; returns when it first answered or failed to. */
  async open(onAvailability: (isAvailable: boolean) => void): Promise<void> {
    this.#isAvailable = await this.#answers()
    this.#monitor = this.#watch(onAvailability)
  }

  async close(): Promise<void> {
    this.#stopped.abort()
    await this.#monitor
  }

  /**
   * Runs one call. `what` names it in the error; `deadlineMs` bounds it, or 0 leaves that to `signal` and the watch.
   * Throws BACKEND_UNAVAILABLE when the engine does not answer, else BACKEND_ERROR with the engine's own words.
   */
  async call<T>(
    what: string,
    work: (signal: AbortSignal) => Promise<T>,
    options: { readonly deadlineMs?: number; readonly signal?: AbortSignal } = {},
  ): Promise<T> {
    if (!this.#isAvailable) throw this.#unavailable(what)
    const { deadlineMs = READ_DEADLINE_MS, signal } = options
    const controller = new AbortController()
    const deadline = deadlineMs > 0 ? setTimeout(() => controller.abort(), deadlineMs) : undefined
    const giveUp = (): void => controller.abort()
    signal?.addEventListener('abort', giveUp, { once: true })
    this.#underWay.add(controller)
    try {
      signal?.throwIfAborted()
      return await work(controller.signal)
    } catch (error) {
      if (signal?.aborted === true) throw signal.reason
      throw controller.signal.aborted || isConnectionError(error)
        ? this.#unavailable(what, error)
        : fault('BACKEND_ERROR', `${what} failed: ${engineMessage(error)}`, error)
    } finally {
      clearTimeout(deadline)
      signal?.removeEventListener('abort', giveUp)
      this.#underWay.delete(controller)
    }
  }

  async #watch(onAvailability: (isAvailable: boolean) => void): Promise<void> {
    const { signal } = this.#stopped
    while (!signal.aborted) {
      const answers = await this.#answers()
      if (answers !== this.#isAvailable && !signal.aborted) {
        this.#isAvailable = answers
        if (!answers) for (const controller of this.#underWay) controller.abort()
        onAvailability(answers)
      }
      await delay(PING_EVERY_MS, undefined, { signal }).catch(() => undefined)
    }
  }

  async #answers(): Promise<boolean> {
    const signal = AbortSignal.any([this.#stopped.signal, AbortSignal.timeout(PING_TIMEOUT_MS)])
    try {
      // The types know only the callback form.
      await (this.docker.ping as (options: object) => Promise<unknown>).call(this.docker, {
        abortSignal: signal,
      })
      return true
    } catch {
      return false
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
