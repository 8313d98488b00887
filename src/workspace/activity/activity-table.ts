import { nameKey } from '../name.ts'
import type { WorkspaceTable } from '../lifecycle/table.ts'
import type { Clock } from '../../lib/clock/clock.ts'

interface Activity {
  /** How many uses are under way. */
  running: number
  /** When a use last began or ended, or the workspace last changed. */
  lastMs: number
}

/** Which workspaces are in use, and since when the others are not. In memory: a new server begins to count anew. */
export class ActivityTable {
  readonly #entries = new Map<string, Activity>()
  readonly #clock: Clock

  /** A workspace that starts, or changes otherwise, counts as used then. */
  constructor(table: WorkspaceTable, clock: Clock) {
    this.#clock = clock
    table.onChange((change) => {
      if (change.type === 'deleted') this.#entries.delete(nameKey(change.name))
      else this.touch(change.workspace.name)
    })
  }

  /** A use such as a tunnel or an SSH session begins; to be called with its end, once or more often. */
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

  /** It is in use at this moment. */
  touch(name: string): void {
    this.#entry(name).lastMs = this.#clock.nowMs()
  }

  /** For how long nothing has used it; 0 while something does. */
  idleMs(name: string): number {
    const { running, lastMs } = this.#entry(name)
    return running > 0 ? 0 : this.#clock.nowMs() - lastMs
  }

  #entry(name: string): Activity {
    const known = this.#entries.get(nameKey(name))
    if (known !== undefined) return known
    const entry = { running: 0, lastMs: this.#clock.nowMs() }
    this.#entries.set(nameKey(name), entry)
    return entry
  }
}
