import { KeyedLock } from '../../lib/process/keyed-lock.ts'
import type { Backend } from '../backend/backend.ts'
import type { Snapshot, Snapshots } from '../backend/snapshot.ts'
import { fault } from '../errors.ts'
import { isWorkspaceName, nameKey } from '../name.ts'
import type { Workspace } from '../workspace.ts'
import type { Clock } from '../../lib/clock/clock.ts'

/** A request to take a snapshot. */
export interface SnapshotInput {
  readonly name: unknown
  readonly comment: string
}

/** A new snapshot and warnings for its creator. */
export interface TakenSnapshot {
  readonly snapshot: Snapshot
  readonly warnings: readonly string[]
}

/** The snapshots of all backends; names are unique across the server. */
export class SnapshotLibrary {
  readonly #backends: readonly Backend[]
  readonly #clock: Clock
  readonly #locks = new KeyedLock()
  readonly #closing = new AbortController()

  constructor(backends: Iterable<Backend>, clock: Clock) {
    this.#backends = [...backends]
    this.#clock = clock
  }

  /** Aborts copies in progress, whose files are removed. */
  close(): void {
    this.#closing.abort(fault('BACKEND_UNAVAILABLE', 'the server is stopping'))
  }

  /** Lists all snapshots, oldest first. */
  async list(): Promise<readonly Snapshot[]> {
    const lists = await Promise.all(
      this.#backends.map(async ({ snapshots }) => (await snapshots?.list()) ?? []),
    )
    return lists.flat().toSorted((a, b) => a.createdAt.getTime() - b.createdAt.getTime())
  }

  /**
   * Returns a snapshot.
   *
   * @throws INVALID_REQUEST when the name is not valid
   * @throws SNAPSHOT_NOT_FOUND when there is none
   */
  async get(nameInput: unknown): Promise<Snapshot> {
    return (await this.#find(parseName(nameInput))).snapshot
  }

  /**
   * Returns a snapshot from which a workspace can be created.
   *
   * @throws BACKEND_ERROR when it is damaged
   * @throws IMAGE_NOT_FOUND when its image is missing
   */
  async getUsable(nameInput: unknown): Promise<Snapshot> {
    const snapshot = await this.get(nameInput)
    if (snapshot.failure !== '') throw fault('BACKEND_ERROR', snapshot.failure)
    if (snapshot.isLowerCached) return snapshot
    throw fault('IMAGE_NOT_FOUND', `snapshot "${snapshot.name}": ${lacksImage(snapshot)}`)
  }

  /**
   * Copies the disk of a workspace whose lock the caller holds.
   *
   * @throws SNAPSHOT_SOURCE_RUNNING, WORKSPACE_NOT_STOPPED when it is not stopped
   * @throws SNAPSHOT_ALREADY_EXISTS when the name is taken
   */
  async take(
    { name: workspace, state, localDir }: Workspace,
    backend: Backend,
    { name: nameInput, comment }: SnapshotInput,
  ): Promise<TakenSnapshot> {
    const name = parseName(nameInput)
    const { snapshots } = backend
    if (snapshots === undefined)
      throw fault('INVALID_REQUEST', `${backend.name} workspaces do not support snapshots; VMs do`)
    if (state.is !== 'stopped') {
      const code = state.is === 'error' ? 'WORKSPACE_NOT_STOPPED' : 'SNAPSHOT_SOURCE_RUNNING'
      throw fault(code, `workspace "${workspace}" is ${state.is}; stop it before taking a snapshot`)
    }
    const request = { name, workspace, comment, createdAt: new Date(this.#clock.wallMs()) }
    const snapshot = await this.#locks.run(nameKey(name), async () => {
      if ((await this.#search(name)) !== undefined)
        throw fault('SNAPSHOT_ALREADY_EXISTS', `snapshot "${name}" already exists; delete it first`)
      this.#closing.signal.throwIfAborted()
      return snapshots.take(request, this.#closing.signal)
    })
    const warnings = [
      ...(snapshot.isLowerCached ? [] : [lacksImage(snapshot)]),
      ...(localDir === '' ? [] : [`${localDir}, which the workspace has mounted, is not included`]),
    ]
    return { snapshot, warnings }
  }

  async remove(nameInput: unknown): Promise<void> {
    const name = parseName(nameInput)
    await this.#locks.run(nameKey(name), async () => {
      const { snapshots } = await this.#find(name)
      await snapshots.remove(name)
    })
  }

  /**
   * Runs work while no snapshot of that name is taken, read or deleted.
   *
   * @throws INVALID_REQUEST when the name is not valid
   */
  async whileIdle<T>(nameInput: unknown, work: () => Promise<T>): Promise<T> {
    return this.#locks.run(nameKey(parseName(nameInput)), work)
  }

  async #find(name: string): Promise<{ readonly snapshot: Snapshot; readonly snapshots: Snapshots }> {
    const found = await this.#search(name)
    if (found !== undefined) return found
    throw fault('SNAPSHOT_NOT_FOUND', `snapshot "${name}" not found`)
  }

  async #search(
    name: string,
  ): Promise<{ readonly snapshot: Snapshot; readonly snapshots: Snapshots } | undefined> {
    for (const { snapshots } of this.#backends) {
      const snapshot = await snapshots?.find(name)
      if (snapshots !== undefined && snapshot !== undefined) return { snapshot, snapshots }
    }
    return undefined
  }
}

function lacksImage({ sourceImage, lowerDigest }: Snapshot): string {
  return `its image ${sourceImage} (${lowerDigest}) is missing; pull or build it before creating a workspace from the snapshot`
}

function parseName(value: unknown): string {
  if (typeof value === 'string' && isWorkspaceName(value)) return value
  const shown = typeof value === 'string' ? JSON.stringify(value.slice(0, 80)) : String(value)
  throw fault(
    'INVALID_REQUEST',
    `snapshot name ${shown} must be 1 to 63 letters, digits or hyphens, and start with a letter or digit`,
  )
}
