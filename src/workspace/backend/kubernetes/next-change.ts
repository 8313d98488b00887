import { nameKey } from '../../name.ts'

/** Workspaces are looked at again after this time, in case the watch has been lost. */
const LOOK_AGAIN_MS = 1_000

/** Waits for changes of workspaces that a watch reports. */
export class NextChange {
  readonly #waiting = new Map<string, Set<() => void>>()

  /** Wakes everything that waits for a change of this workspace. */
  note(name: string): void {
    for (const wake of this.#waiting.get(nameKey(name)) ?? []) wake()
  }

  /** Resolves at the next change of a workspace, when the signal aborts, or after a second. Call it before looking. */
  async of(name: string, signal: AbortSignal): Promise<void> {
    const key = nameKey(name)
    const { promise, resolve } = Promise.withResolvers<void>()
    const all = this.#waiting.get(key) ?? new Set()
    this.#waiting.set(key, all.add(resolve))
    const late = setTimeout(resolve, LOOK_AGAIN_MS)
    const giveUp = (): void => resolve()
    signal.addEventListener('abort', giveUp, { once: true })
    await promise
    clearTimeout(late)
    signal.removeEventListener('abort', giveUp)
    all.delete(resolve)
    if (all.size === 0) this.#waiting.delete(key)
  }
}
