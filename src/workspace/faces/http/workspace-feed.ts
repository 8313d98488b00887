import { encodeEvent, type SseStream } from '../../../lib/sse/sse-stream.ts'
import { changeToWire, snapshotToWire } from '../../api/event.ts'
import type { WorkspaceTable } from '../../lifecycle/table.ts'
import type { Timeline } from '../../timeline/timeline.ts'
import type { Workspace } from '../../workspace.ts'

/**
 * Streams workspace changes to any number of readers: a snapshot first, then every later change. Each event is encoded once for
 * all readers.
 */
export class WorkspaceFeed {
  readonly #table: WorkspaceTable
  readonly #timeline: Timeline
  readonly #readers = new Set<SseStream>()
  #lastId = 0
  /** Cached until the next change: thousands of readers may reconnect at the same time. */
  #snapshot: Buffer | undefined

  constructor(table: WorkspaceTable, timeline: Timeline) {
    this.#table = table
    this.#timeline = timeline
    table.onChange((change) => {
      this.#lastId++
      this.#snapshot = undefined
      if (this.#readers.size === 0) return
      const event = encodeEvent(changeToWire(change, this.#explain), 'workspace', this.#lastId)
      for (const reader of this.#readers) reader.sendEncoded(event)
    })
  }

  readonly #explain = (workspace: Workspace) => this.#timeline.explain(workspace)

  /** Sends the snapshot to a reader and subscribes it until it closes. */
  add(reader: SseStream): void {
    this.#snapshot ??= encodeEvent(
      snapshotToWire(this.#table.list(), this.#explain),
      'snapshot',
      this.#lastId,
    )
    reader.sendEncoded(this.#snapshot)
    this.#readers.add(reader)
    void reader.closed.then(() => this.#readers.delete(reader))
  }
}
