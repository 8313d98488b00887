import { randomUUID } from 'node:crypto'
import type { AlarmClock } from '../../lib/clock/clock.ts'
import { pause } from '../../lib/clock/pause.ts'
import { messageOf } from '../../lib/errors/message.ts'
import type { Logger } from '../../lib/log/logger.ts'
import type { Hook } from './hook.ts'
import type { ProcessEvent } from './process-event.ts'
import { type HookResult, runHook } from './run-hook.ts'

/** Maximum number of events that wait for a hook. */
const MOST_WAITING = 100
/** Delays between the attempts of a webhook. */
const RETRY_DELAYS_MS = [1_000, 5_000]

/** Dependencies of hooks. */
export interface HookDeps {
  readonly logger: Logger
  readonly clock: AlarmClock
  readonly environment: NodeJS.ProcessEnv
  /** Called with the number of events that a hook missed. */
  readonly onDrop: (hook: string, events: number) => void
}

/** Runs one hook for events, one after the other. */
export class HookQueue {
  readonly hook: Hook
  readonly #deps: HookDeps
  readonly #waiting: ProcessEvent[] = []
  readonly #closing = new AbortController()
  #dropped = 0
  #running: Promise<void> | undefined

  constructor(hook: Hook, deps: HookDeps) {
    this.hook = hook
    this.#deps = deps
  }

  /** Adds an event; it is dropped if too many wait. */
  add(event: ProcessEvent): void {
    if (this.#waiting.length >= MOST_WAITING) {
      this.#deps.onDrop(this.hook.name, 1)
      if (this.#dropped++ === 0)
        this.#deps.logger.warn(
          `hook "${this.hook.name}" is too slow: ${MOST_WAITING} events wait, more are dropped`,
        )
      return
    }
    this.#waiting.push(event)
    this.#running ??= this.#runAll()
  }

  /** Resolves when no event waits. */
  idle(): Promise<void> {
    return this.#running ?? Promise.resolve()
  }

  /** Stops the hook in progress, and drops the waiting events. */
  abort(): void {
    const { length } = this.#waiting.splice(0)
    this.#deps.onDrop(this.hook.name, length)
    this.#dropped += length
    this.#closing.abort()
  }

  async #runAll(): Promise<void> {
    // Never within the change that caused the event.
    await Promise.resolve()
    for (let event = this.#waiting.shift(); event !== undefined; event = this.#waiting.shift())
      await this.#run(event)
    this.#running = undefined
    if (this.#dropped === 0) return
    this.#deps.logger.warn(
      { hook: this.hook.name, dropped: this.#dropped },
      `hook "${this.hook.name}" missed events`,
    )
    this.#dropped = 0
  }

  async #run(event: ProcessEvent): Promise<void> {
    const { name, action } = this.hook
    const { logger, clock } = this.#deps
    const id = randomUUID()
    let result = await this.#attempt(event, id)
    for (const delayMs of action.kind === 'webhook' ? RETRY_DELAYS_MS : []) {
      if (result.isDone || result.isPassing !== true) break
      await pause(clock, delayMs, this.#closing.signal)
      if (this.#closing.signal.aborted) break
      result = await this.#attempt(event, id)
    }
    const { isDone, output } = result
    const fields = { hook: name, process: event.process, event: event.event, output }
    if (isDone) logger.info(fields, `hook "${name}" was run`)
    else logger.warn(fields, `hook "${name}" failed`)
  }

  async #attempt(event: ProcessEvent, id: string): Promise<HookResult> {
    const { clock, environment } = this.#deps
    const limit = new AbortController()
    const cancel = clock.after(this.hook.timeoutMs, () => limit.abort())
    try {
      const signal = AbortSignal.any([limit.signal, this.#closing.signal])
      signal.throwIfAborted()
      return await runHook(this.hook, event, { id, environment, clock, signal })
    } catch (error) {
      const output = limit.signal.aborted ? `it took more than ${this.hook.timeoutMs} ms` : messageOf(error)
      return { isDone: false, output, isPassing: true }
    } finally {
      cancel()
    }
  }
}
