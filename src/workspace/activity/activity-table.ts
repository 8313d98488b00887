import { nameKey } from '../name.ts'
import type { WorkspaceTable } from '../lifecycle/table.ts'
import type { Clock } from '../../lib/clock/clock.ts'

interface Activity {
  /** Number of uses in progress. */
  running: number
  /** When a use last started or ended, or the workspace last changed. */
  lastMs: number
}

/**
 * Tracks which workspaces are in use and how long the others have been idle. Kept in memory: a restarted
 * server starts counting from zero.
 */
export class ActivityTable {
  readonly #entries = new Map<string, Activity>()
  readonly #clock: Clock

  /** Subscribes to the table: a workspace counts as used whenever it changes, including when it starts. */
  constructor(table: WorkspaceTable, clock: Clock) {
    this.#clock = clock
    table.onChange((change) => {
      if (change.type === 'deleted') this.#entries.delete(nameKey(change.name))
      else this.touch(change.workspace.name)
    })
  }

  /**
   * Records the start of a use, such as a tunnel or an SSH session. The returned function ends it and may be
   * called repeatedly.
   */
  begin(name: string): () => void {
    const entry = this.#entry(name)
    entry.running++
    entry.lastMs = this.#clock.nowMs()
    let hasEnded = false
    return () => {
      if (hasEnded) return
      hasEnded = true
      entry.running--
      entry.lastMs = this.#clock.nowMs()
    }
  }

  /** Records that the workspace is in use now. */
  touch(name: string): void {
    this.#entry(name).lastMs = this.#clock.nowMs()
  }

  /** Returns whether any use is in progress. */
  isInUse(name: string): boolean {
    return this.#entry(name).running > 0
  }

  /** Returns how long the workspace has been idle, or 0 while it is in use. */
  idleMs(name: string): number {
    const { running, lastMs } = this.#entry(name)
    return running > 0 ? 0 : this.#clock.nowMs() - lastMs
  }

  #entry(name: string): Activity {
    const existing = this.#entries.get(nameKey(name))
    if (existing !== undefined) return existing
    const entry = { running: 0, lastMs: this.#clock.nowMs() }
    this.#entries.set(nameKey(name), entry)
    return entry
  }
}
