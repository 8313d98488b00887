import { KeyedLock } from '../../lib/process/keyed-lock.ts'
import type { Backend } from '../backend/backend.ts'
import type { Snapshot, Snapshots } from '../backend/snapshot.ts'
import { fault } from '../errors.ts'
import { isWorkspaceName, nameKey } from '../name.ts'
import type { Workspace } from '../workspace.ts'
import type { Clock } from '../../lib/clock/clock.ts'

export interface SnapshotInput {
  readonly name: unknown
  readonly comment: string
}

/** A snapshot and what who took it should know. */
export interface TakenSnapshot {
  readonly snapshot: Snapshot
  readonly warnings: readonly string[]
}

/** The snapshots of all backends; a name is one snapshot's on the whole server. */
export class SnapshotLibrary {
  readonly #backends: readonly Backend[]
  readonly #clock: Clock
  readonly #locks = new KeyedLock()
  readonly #closing = new AbortController()

  constructor(backends: Iterable<Backend>, clock: Clock) {
    this.#backends = [...backends]
    this.#clock = clock
  }

  /** Gives up copies under way; what they had made is removed. */
  close(): void {
    this.#closing.abort(fault('BACKEND_UNAVAILABLE', 'the server is stopping'))
  }

  /** Oldest first. */
  async list(): Promise<readonly Snapshot[]> {
    const lists = await Promise.all(
      this.#backends.map(async ({ snapshots }) => (await snapshots?.list()) ?? []),
    )
    return lists.flat().toSorted((a, b) => a.createdAt.getTime() - b.createdAt.getTime())
  }

  /** @throws INVALID_REQUEST and SNAPSHOT_NOT_FOUND, as all below do */
  async get(nameInput: unknown): Promise<Snapshot> {
    return (await this.#find(parseName(nameInput))).snapshot
  }

  /** One of which a workspace can be made. @throws BACKEND_ERROR where it is not whole, or its image is not here */
  async getUsable(nameInput: unknown): Promise<Snapshot> {
    const snapshot = await this.get(nameInput)
    if (snapshot.failure !== '') throw fault('BACKEND_ERROR', snapshot.failure)
    if (snapshot.isLowerCached) return snapshot
    throw fault('IMAGE_NOT_FOUND', `snapshot "${snapshot.name}": ${lacksImage(snapshot)}`)
  }

  /**
   * Copies a workspace's disk, which nobody else changes meanwhile.
   *
   * @throws SNAPSHOT_SOURCE_RUNNING, WORKSPACE_NOT_STOPPED and SNAPSHOT_ALREADY_EXISTS
   */
  async take(
    { name: workspace, state, localDir }: Workspace,
    backend: Backend,
    { name: nameInput, comment }: SnapshotInput,
  ): Promise<TakenSnapshot> {
    const name = parseName(nameInput)
    const { snapshots } = backend
    if (snapshots === undefined)
      throw fault('INVALID_REQUEST', `${backend.name} workspaces have no snapshots: virtual machines have`)
    if (state.is !== 'stopped') {
      const code = state.is === 'error' ? 'WORKSPACE_NOT_STOPPED' : 'SNAPSHOT_SOURCE_RUNNING'
      throw fault(code, `workspace "${workspace}" is ${state.is}; stop it before its snapshot is taken`)
    }
    const request = { name, workspace, comment, createdAt: new Date(this.#clock.wallMs()) }
    const snapshot = await this.#locks.run(nameKey(name), async () => {
      if ((await this.#search(name)) !== undefined)
        throw fault('SNAPSHOT_ALREADY_EXISTS', `there is a snapshot "${name}" already; delete it first`)
      this.#closing.signal.throwIfAborted()
      return snapshots.take(request, this.#closing.signal)
    })
    const warnings = [
      ...(snapshot.isLowerCached ? [] : [lacksImage(snapshot)]),
      ...(localDir === '' ? [] : [`${localDir}, which the workspace has mounted, is no part of it`]),
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

  /** Runs work while no snapshot of that name is taken, read or deleted. @throws INVALID_REQUEST */
  async whileIdle<T>(nameInput: unknown, work: () => Promise<T>): Promise<T> {
    return this.#locks.run(nameKey(parseName(nameInput)), work)
  }

  async #find(name: string): Promise<{ readonly snapshot: Snapshot; readonly snapshots: Snapshots }> {
    const found = await this.#search(name)
    if (found !== undefined) return found
    throw fault('SNAPSHOT_NOT_FOUND', `there is no snapshot "${name}"`)
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
  return `its image ${sourceImage} (${lowerDigest}) is not here: pull or build it again before a workspace is made of it`
}

function parseName(value: unknown): string {
  if (typeof value === 'string' && isWorkspaceName(value)) return value
  const shown = typeof value === 'string' ? JSON.stringify(value.slice(0, 80)) : String(value)
  throw fault(
    'INVALID_REQUEST',
    `snapshot name ${shown} must be 1 to 63 letters, digits and hyphens, and begin with a letter or digit`,
  )
}
