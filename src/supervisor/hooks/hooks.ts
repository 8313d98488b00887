import type { SupervisedProcess } from '../process/supervised-process.ts'
import type { Hook } from './hook.ts'
import { type HookDeps, HookQueue } from './hook-queue.ts'
import { EventDetector } from './process-event.ts'

/** Runs hooks for the events of processes. A slow hook delays neither a process nor another hook. */
export class Hooks {
  readonly #deps: HookDeps
  readonly #detector = new EventDetector()
  /** By the JSON of their hooks. */
  #queues = new Map<string, HookQueue>()
  /** Queues of hooks that were removed, with events that wait. */
  readonly #removed = new Set<HookQueue>()
  #isOn = false

  /** Numbers of events that hooks have missed, by name. */
  readonly dropped = new Map<string, number>()

  constructor(hooks: readonly Hook[], deps: Omit<HookDeps, 'onDrop'>) {
    this.#deps = {
      ...deps,
      onDrop: (hook, events) => this.dropped.set(hook, (this.dropped.get(hook) ?? 0) + events),
    }
    this.set(hooks)
  }

  /** Replaces the hooks; unchanged ones continue, and removed ones are still run for earlier events. */
  set(hooks: readonly Hook[]): void {
    const before = this.#queues
    this.#queues = new Map(
      hooks.map((hook) => {
        const key = JSON.stringify(hook)
        this.dropped.set(hook.name, this.dropped.get(hook.name) ?? 0)
        return [key, before.get(key) ?? new HookQueue(hook, this.#deps)]
      }),
    )
    for (const [key, queue] of before) {
      if (this.#queues.has(key)) continue
      this.#removed.add(queue)
      void queue.idle().then(() => this.#removed.delete(queue))
    }
  }

  /** Runs hooks from now on; what happened before, such as a take-over, is not an event. */
  begin(): void {
    this.#isOn = true
  }

  /** Runs the hooks for what has happened to a process. */
  changed(process: SupervisedProcess): void {
    for (const event of this.#detector.detect(process)) {
      if (!this.#isOn) continue
      for (const queue of this.#queues.values()) {
        const { hook } = queue
        const isMeant = hook.process === undefined || hook.process === event.base
        if (isMeant && hook.events.includes(event.event)) queue.add(event)
      }
    }
  }

  /** Resolves when all events have been handled; those left after the limit are dropped. */
  async close(limitMs: number): Promise<void> {
    const all = [...this.#queues.values(), ...this.#removed]
    const cancel = this.#deps.clock.after(limitMs, () => all.forEach((queue) => queue.abort()))
    await Promise.all(all.map((queue) => queue.idle()))
    cancel()
  }
}
