import { ignore } from '../../lib/errors/ignore.ts'
import type { WalkWork } from './walker.ts'

interface Turn<T> {
  readonly result: Promise<T>
  readonly end: AbortController
  readonly watchers: Set<(entries: number) => void>
  waiting: number
}

/**
 * Runs one walk at a time. Callers that arrive during a walk share the next one: what they get was never measured
 * before they asked. A walk ends early when all its callers have left.
 */
export class SharedWalk<T> {
  readonly #walk: (work: WalkWork) => Promise<T>
  #running: Promise<unknown> = Promise.resolve()
  #next: Turn<T> | undefined

  constructor(walk: (work: WalkWork) => Promise<T>) {
    this.#walk = walk
  }

  /** Waits for a walk; aborting the signal leaves it. */
  async run({ signal, onSeen }: WalkWork = {}): Promise<T> {
    signal?.throwIfAborted()
    const turn = (this.#next ??= this.#open())
    turn.waiting++
    if (onSeen) turn.watchers.add(onSeen)
    const left = Promise.withResolvers<never>()
    const leave = (): void => {
      if (onSeen) turn.watchers.delete(onSeen)
      turn.waiting--
      if (turn.waiting === 0) {
        turn.end.abort(signal?.reason)
        // If it has not begun, later callers need another.
        if (this.#next === turn) this.#next = undefined
      }
      left.reject(signal?.reason)
    }
    signal?.addEventListener('abort', leave, { once: true })
    try {
      return await Promise.race([turn.result, left.promise])
    } finally {
      signal?.removeEventListener('abort', leave)
    }
  }

  #open(): Turn<T> {
    const end = new AbortController()
    const watchers = new Set<(entries: number) => void>()
    const onSeen = (entries: number): void => watchers.forEach((watcher) => watcher(entries))
    const result = this.#running.then(() => {
      end.signal.throwIfAborted()
      this.#next = undefined
      return this.#walk({ signal: end.signal, onSeen })
    })
    this.#running = result.catch(ignore('the callers that wait for the walk get it'))
    return { result, end, watchers, waiting: 0 }
  }
}
