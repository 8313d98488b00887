import type { AlarmClock } from '../../lib/clock/clock.ts'
import { pause } from '../../lib/clock/pause.ts'
import { messageOf } from '../../lib/errors/message.ts'
import type { Logger } from '../../lib/log/logger.ts'
import { LogFollower } from '../log/log-follower.ts'
import type { LogLine } from '../log/log-line.ts'
import type { ProcessLogs } from '../log/process-logs.ts'
import type { Destination } from './destination.ts'

const FIRST_DELAY_MS = 1_000
const LONGEST_DELAY_MS = 30_000
/** Lines that are sent at once. */
const BATCH_LINES = 1_000

interface ShipperDeps {
  readonly logs: ProcessLogs
  readonly clock: AlarmClock
  readonly logger: Logger
}

/**
 * Sends all lines to a destination, in order. Lines that wait are those that the store keeps anyway; what it drops meanwhile is
 * counted and reported.
 */
export class Shipper {
  readonly #name: string
  readonly #destination: Destination
  readonly #deps: ShipperDeps
  readonly #follower: LogFollower
  readonly #closing = new AbortController()
  #sending: Promise<void> | undefined
  #isFailing = false
  #lost = 0
  /** Lines whose loss was logged. */
  #reported = 0

  constructor(name: string, destination: Destination, deps: ShipperDeps) {
    this.#name = name
    this.#destination = destination
    this.#deps = deps
    const reader = {
      isReady: () => this.#sending === undefined,
      onLines: (lines: readonly LogLine[]) => {
        this.#sending = this.#sendAll(lines)
      },
      onLost: (_process: string, lines: number) => {
        this.#lost += lines
      },
    }
    this.#follower = new LogFollower(deps.logs, reader, { isPlain: true })
  }

  /** Name of its destination. */
  get name(): string {
    return this.#name
  }

  /** Number of lines that were not sent. */
  get droppedLines(): number {
    return this.#reported + this.#lost
  }

  /** Sends what is left, for at most the limit, and closes the destination. */
  async close(limitMs: number): Promise<void> {
    const cancel = this.#deps.clock.after(limitMs, () => this.#closing.abort())
    do {
      await this.#sending
      this.#follower.finish()
      // After the limit, the rest is only counted.
    } while (this.#sending !== undefined)
    cancel()
    this.#report()
    this.#destination.close()
  }

  async #sendAll(lines: readonly LogLine[]): Promise<void> {
    for (let at = 0; at < lines.length; at += BATCH_LINES) await this.#send(lines.slice(at, at + BATCH_LINES))
    this.#sending = undefined
    this.#report()
    this.#follower.resume()
  }

  async #send(lines: readonly LogLine[]): Promise<void> {
    const { logger, clock } = this.#deps
    const { signal } = this.#closing
    for (let delayMs = FIRST_DELAY_MS; !signal.aborted; delayMs = Math.min(2 * delayMs, LONGEST_DELAY_MS)) {
      try {
        this.#lost += await this.#destination.send(lines, signal)
        if (this.#isFailing) logger.info(`lines are sent to log.ship.${this.#name} again`)
        this.#isFailing = false
        return
      } catch (error) {
        if (!this.#isFailing)
          logger.warn(`lines cannot be sent to log.ship.${this.#name}, trying again: ${messageOf(error)}`)
        this.#isFailing = true
      }
      await pause(clock, delayMs, signal)
    }
    this.#lost += lines.length
  }

  /** Logs the number of lines that were not sent. */
  #report(): void {
    if (this.#lost > 0)
      this.#deps.logger.warn({ lines: this.#lost }, `lines were not sent to log.ship.${this.#name}`)
    this.#reported += this.#lost
    this.#lost = 0
  }
}
