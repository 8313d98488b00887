import { encodeEvent, type SseStream } from '../../../lib/sse/sse-stream.ts'
import { changeToWire, snapshotToWire } from '../../api/event.ts'
import type { WorkspaceTable } from '../../lifecycle/table.ts'
import { nameKey } from '../../name.ts'
import type { AccessControl, Principal } from '../../team/access-control.ts'
import type { EncodeWorkspace } from '../../api/workspace.ts'
import type { WorkspaceChange } from '../../workspace.ts'

/**
 * Streams workspace changes to any number of readers: a snapshot first, then every later change. Each event is encoded once for
 * all readers who see everything. For others, a workspace that they may no longer see is a deleted one, and events have no IDs,
 * which would count the changes of others.
 */
export class WorkspaceFeed {
  readonly #table: WorkspaceTable
  readonly #encode: EncodeWorkspace
  readonly #access: AccessControl
  readonly #readers = new Set<SseStream>()
  readonly #limited = new Set<LimitedReader>()
  #lastId = 0
  /** Cached until the next change: thousands of readers may reconnect at the same time. */
  #snapshot: Buffer | undefined

  constructor(table: WorkspaceTable, encode: EncodeWorkspace, access: AccessControl) {
    this.#table = table
    this.#encode = encode
    this.#access = access
    table.onChange((change) => {
      this.#lastId++
      this.#snapshot = undefined
      if (this.#readers.size > 0) {
        const event = encodeEvent(changeToWire(change, this.#encode), 'workspace', this.#lastId)
        for (const reader of this.#readers) reader.sendEncoded(event)
      }
      for (const reader of this.#limited) this.#sendLimited(reader, change)
    })
  }

  /** Sends the snapshot to a reader and subscribes it until it closes. */
  add(stream: SseStream, principal: Principal): void {
    if (principal.is !== 'server') return this.#addLimited(stream, principal)
    this.#snapshot ??= encodeEvent(snapshotToWire(this.#table.list(), this.#encode), 'snapshot', this.#lastId)
    stream.sendEncoded(this.#snapshot)
    this.#readers.add(stream)
    void stream.closed.then(() => this.#readers.delete(stream))
  }

  #addLimited(stream: SseStream, principal: Principal): void {
    const visible = this.#access.visible(principal)
    stream.send(snapshotToWire(visible, this.#encode), 'snapshot')
    const reader = { stream, principal, seen: new Set(visible.map(({ name }) => nameKey(name))) }
    this.#limited.add(reader)
    void stream.closed.then(() => this.#limited.delete(reader))
  }

  #sendLimited({ stream, principal, seen }: LimitedReader, change: WorkspaceChange): void {
    const name = change.type === 'deleted' ? change.name : change.workspace.name
    const key = nameKey(name)
    if (change.type === 'deleted' || !this.#access.canSee(principal, change.workspace)) {
      if (seen.delete(key)) stream.send(changeToWire({ type: 'deleted', name }, this.#encode), 'workspace')
      return
    }
    const type = seen.has(key) ? change.type : 'created'
    seen.add(key)
    const workspace = this.#access.shown(principal, change.workspace)
    stream.send(changeToWire({ type, workspace }, this.#encode), 'workspace')
  }
}

/** A reader who sees some workspaces. */
interface LimitedReader {
  readonly stream: SseStream
  readonly principal: Principal
  /** Keys of the workspaces that were reported to it. */
  readonly seen: Set<string>
}
