import { encodeEvent, type SseStream } from '../../../lib/sse/sse-stream.ts'
import { changeToWire, snapshotToWire } from '../../api/event.ts'
import type { WorkspaceTable } from '../../lifecycle/table.ts'

/**
 * Tells any number of readers what becomes of the workspaces: to each a snapshot, then every change after it. What is
 * told is encoded once, however many read it.
 */
export class WorkspaceFeed {
  readonly #table: WorkspaceTable
  readonly #readers = new Set<SseStream>()
  #lastId = 0
  /** Until the next change; thousands of readers may come back at once. */
  #snapshot: Buffer | undefined

  constructor(table: WorkspaceTable) {
    this.#table = table
    table.onChange((change) => {
      this.#lastId++
      this.#snapshot = undefined
      if (this.#readers.size === 0) return
      const event = encodeEvent(changeToWire(change), 'workspace', this.#lastId)
      for (const reader of this.#readers) reader.sendEncoded(event)
    })
  }

  add(reader: SseStream): void {
    this.#snapshot ??= encodeEvent(snapshotToWire(this.#table.list()), 'snapshot', this.#lastId)
    reader.sendEncoded(this.#snapshot)
    this.#readers.add(reader)
    void reader.closed.then(() => this.#readers.delete(reader))
  }
}
