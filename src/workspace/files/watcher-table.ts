import { randomBytes } from 'node:crypto'
import { isFault } from '../../lib/errors/fault.ts'
import type { Backend } from '../backend/backend.ts'
import { fault } from '../errors.ts'
import type { WorkspaceTable } from '../lifecycle/table.ts'
import { nameKey } from '../name.ts'
import { type FileChange, type WatchedDirectory, watchDirectory } from './watch.ts'

const MAX_PER_WORKSPACE = 16
/** Changes kept for a client that asks rarely; the oldest are dropped. */
const MAX_CHANGES = 4_096

interface Watcher {
  readonly key: string
  readonly stop: AbortController
  changes: FileChange[]
  failure: unknown
}

/** Watches of directories whose changes clients ask for from time to time. */
export class WatcherTable {
  readonly #watchers = new Map<string, Watcher>()

  constructor(table: WorkspaceTable) {
    table.onChange((change) => {
      if (change.type === 'deleted') this.#removeOf(nameKey(change.name))
    })
  }

  /**
   * Starts a watch and returns its id. A workspace's oldest watch makes place for the newest: clients that crash leave
   * theirs.
   *
   * @throws the errors of `watchDirectory`
   */
  async create(backend: Backend, workspaceName: string, directory: WatchedDirectory): Promise<string> {
    const key = nameKey(workspaceName)
    const stop = new AbortController()
    const batches = watchDirectory(backend, workspaceName, directory, stop.signal)
    await batches.next()
    const own = [...this.#watchers].filter(([, watcher]) => watcher.key === key)
    for (const [id] of own.slice(0, Math.max(0, own.length - MAX_PER_WORKSPACE + 1))) this.#remove(id)
    const id = randomBytes(8).toString('hex')
    const watcher: Watcher = { key, stop, changes: [], failure: undefined }
    this.#watchers.set(id, watcher)
    void collect(watcher, batches)
    return id
  }

  /** Returns and forgets the changes since the last call. @throws FILE_NOT_FOUND when there is no such watch */
  take(workspaceName: string, id: string): readonly FileChange[] {
    const watcher = this.#get(workspaceName, id)
    const { changes, failure } = watcher
    if (changes.length === 0 && isFault(failure)) throw failure
    watcher.changes = []
    return changes
  }

  /** @throws FILE_NOT_FOUND when there is no such watch */
  remove(workspaceName: string, id: string): void {
    this.#get(workspaceName, id)
    this.#remove(id)
  }

  close(): void {
    for (const id of this.#watchers.keys()) this.#remove(id)
  }

  #get(workspaceName: string, id: string): Watcher {
    const watcher = this.#watchers.get(id)
    if (watcher !== undefined && watcher.key === nameKey(workspaceName)) return watcher
    throw fault(
      'FILE_NOT_FOUND',
      `workspace "${workspaceName}" has no watcher ${JSON.stringify(id.slice(0, 80))}`,
    )
  }

  #removeOf(key: string): void {
    for (const [id, watcher] of this.#watchers) if (watcher.key === key) this.#remove(id)
  }

  #remove(id: string): void {
    this.#watchers.get(id)?.stop.abort()
    this.#watchers.delete(id)
  }
}

async function collect(watcher: Watcher, batches: AsyncIterable<readonly FileChange[]>): Promise<void> {
  try {
    for await (const changes of batches)
      watcher.changes = [...watcher.changes, ...changes].slice(-MAX_CHANGES)
  } catch (error) {
    watcher.failure = error
  }
}
