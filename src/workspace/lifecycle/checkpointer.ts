import { ignore } from '../../lib/errors/ignore.ts'
import { parseDuration } from '../../lib/config/duration.ts'
import type { Clock } from '../../lib/clock/clock.ts'
import type { Backend } from '../backend/backend.ts'
import type { BackendName } from '../backend-name.ts'
import {
  type Checkpoint,
  type CheckpointReason,
  type Checkpoints,
  isCheckpointId,
  withCopyLimit,
} from '../backend/checkpoint.ts'
import { fault } from '../errors.ts'
import { parseWorkspaceName } from '../name.ts'
import type { Timeline } from '../timeline/timeline.ts'
import type { Workspace } from '../workspace.ts'
import { getBackend } from './get-backend.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { WorkspaceTable } from './table.ts'

/** Dependencies of a Checkpointer. */
export interface CheckpointerOptions {
  readonly table: WorkspaceTable
  readonly backends: ReadonlyMap<BackendName, Backend>
  readonly lifecycle: Pick<Lifecycle, 'whileIdle' | 'startIf'>
  readonly timeline: Timeline
  readonly clock: Clock
}

/** A workspace after a rewind. */
export interface Rewound {
  readonly workspace: Workspace
  /** The checkpoint whose files it has. */
  readonly to: Checkpoint
  /** A checkpoint of its files before the rewind. */
  readonly before: Checkpoint
}

/** Number of checkpoints kept that clients have not taken, unless the workspace's plan names one. */
const DEFAULT_KEEP = 10
const DEFAULT_MAX_AGE_MS = 7 * 86_400_000

/** A workspace and the checkpoint operations of its backend. */
interface Checkpointed {
  readonly workspace: Workspace
  readonly backend: Backend
  readonly checkpoints: Checkpoints
}

/** Numbers of checkpoints that were taken and deleted. */
export interface CheckpointChanges {
  readonly taken: number
  readonly deleted: number
}

const NOTHING: CheckpointChanges = { taken: 0, deleted: 0 }

/** Takes and deletes checkpoints of workspaces, and rewinds workspaces to them, while nothing else changes the workspace. */
export class Checkpointer {
  readonly #options: CheckpointerOptions
  readonly #closing = new AbortController()
  /** Numbers of forks under way, by the id of their checkpoint. */
  readonly #forking = new Map<string, number>()

  constructor(options: CheckpointerOptions) {
    this.#options = options
  }

  /** Aborts copies in progress, whose files are removed. */
  close(): void {
    this.#closing.abort(fault('BACKEND_UNAVAILABLE', 'the server is stopping'))
  }

  /**
   * Lists the checkpoints of a workspace, oldest first.
   *
   * @throws CHECKPOINT_UNSUPPORTED when its backend has none
   */
  async list(nameInput: unknown): Promise<readonly Checkpoint[]> {
    const { checkpoints, workspace } = this.#find(parseWorkspaceName(nameInput))
    return checkpoints.list(workspace)
  }

  /**
   * Takes a checkpoint of a running, stopped or suspended workspace, without its memory.
   *
   * @throws CHECKPOINT_UNSUPPORTED when its files cannot be copied
   * @throws WORKSPACE_NOT_STOPPED when it is in an error
   */
  async take(nameInput: unknown, label: string): Promise<Checkpoint> {
    return this.#whileIdle(nameInput, async (found) => {
      const { name, state } = found.workspace
      if (state.is === 'error' || state.is === 'starting')
        throw fault(
          'WORKSPACE_NOT_STOPPED',
          `workspace "${name}" is ${state.is}; start or stop it before taking a checkpoint`,
        )
      const checkpoint = await this.#take(found, 'manual', label)
      this.#options.timeline.note(name, `a client took checkpoint ${checkpoint.id}`)
      return checkpoint
    })
  }

  /**
   * Takes a checkpoint for the plan of a workspace, and deletes those that the plan does not keep. Does nothing without a plan,
   * or if nothing was written since the last one, where the backend can determine that.
   */
  async takeForPlan(name: string, reason: 'idle' | 'schedule'): Promise<CheckpointChanges> {
    if (this.#options.table.find(name)?.checkpoints === undefined) return NOTHING
    return this.#whileIdle(name, async (found) => {
      const { checkpoints, workspace } = found
      const { state, settingsError } = workspace
      if (workspace.checkpoints === undefined || settingsError !== undefined) return NOTHING
      if (state.is === 'error' || state.is === 'starting') return NOTHING
      const last = (await checkpoints.list(workspace)).at(-1)
      if (last !== undefined && (await checkpoints.isCurrent?.(workspace, last.id)) === true) return NOTHING
      const { id } = await this.#take(found, reason, '')
      this.#options.timeline.note(workspace.name, `checkpoint ${id} was taken (${reason})`)
      return { taken: 1, deleted: await this.#thin(found, [id]) }
    })
  }

  /**
   * Returns the origin of forks of a workspace, whose lock the caller holds. The checkpoint is not deleted until `release`.
   *
   * @throws CHECKPOINT_NOT_FOUND when the workspace has none with this id
   */
  async hold(workspace: Workspace, id: string): Promise<string> {
    const found = this.#find(workspace.name)
    await this.#get(found, id)
    const origin = await found.checkpoints.originOf(workspace, id)
    this.#forking.set(id, (this.#forking.get(id) ?? 0) + 1)
    return origin
  }

  release(id: string): void {
    const count = (this.#forking.get(id) ?? 0) - 1
    if (count > 0) this.#forking.set(id, count)
    else this.#forking.delete(id)
  }

  /**
   * Deletes a checkpoint.
   *
   * @throws CHECKPOINT_NOT_FOUND when the workspace has none with this id
   * @throws WORKSPACE_BUSY while it is being forked
   */
  async remove(nameInput: unknown, id: string): Promise<void> {
    await this.#whileIdle(nameInput, async (found) => {
      await this.#get(found, id)
      if (this.#forking.has(id))
        throw fault('WORKSPACE_BUSY', `checkpoint "${id}" is being forked; delete it afterwards`)
      await found.checkpoints.remove(found.workspace, id)
      this.#options.timeline.note(found.workspace.name, `a client deleted checkpoint ${id}`)
    })
  }

  /**
   * Puts back the files of a checkpoint, by its id or its minimum age, and starts the workspace if it ran. First takes a
   * checkpoint, so that the rewind can be undone.
   *
   * @throws CHECKPOINT_NOT_FOUND when there is no such checkpoint
   */
  async rewind(nameInput: unknown, to: string): Promise<Rewound> {
    const name = parseWorkspaceName(nameInput)
    const rewound = await this.#whileIdle(name, (found) => this.#rewind(found, to))
    if (rewound.isRunning)
      await this.#options.lifecycle.startIf(name, 'it was rewound', ({ state }) => state.is === 'stopped')
    return { ...rewound, workspace: this.#options.table.get(name) }
  }

  /** Requires the lock. */
  async #rewind(found: Checkpointed, toInput: string) {
    const { table, timeline } = this.#options
    const { workspace, backend, checkpoints } = found
    const { name, state } = workspace
    const to = isCheckpointId(toInput) ? await this.#get(found, toInput) : await this.#before(found, toInput)
    const before = await this.#take(found, 'rewind', '')
    try {
      timeline.because(name, `a client rewound it to checkpoint ${to.id}`)
      // Discards the memory of a suspended one, which belongs to other files.
      if (state.is !== 'stopped') table.set(await backend.stop(name))
      await checkpoints.restore(workspace, to.id, withCopyLimit(this.#closing.signal))
    } finally {
      const now = await backend.find(name).catch(ignore('the next change of the backend refreshes it'))
      if (now !== undefined) table.set(now)
      timeline.endReason(name)
    }
    await this.#thin(found, [to.id, before.id])
    const age = to.createdAt.toISOString()
    timeline.note(
      name,
      `it was rewound to checkpoint ${to.id} of ${age}; checkpoint ${before.id} undoes that`,
    )
    return { to, before, isRunning: state.is === 'running' }
  }

  #take(
    { workspace, checkpoints }: Checkpointed,
    reason: CheckpointReason,
    label: string,
  ): Promise<Checkpoint> {
    const { signal } = this.#closing
    signal.throwIfAborted()
    const createdAt = new Date(this.#options.clock.wallMs())
    return checkpoints.take(workspace, { createdAt, reason, label }, withCopyLimit(signal))
  }

  /** Deletes checkpoints that clients have not taken, by number and age; never those in use. Returns how many. */
  async #thin({ checkpoints, workspace }: Checkpointed, inUse: readonly string[]): Promise<number> {
    const { keep = DEFAULT_KEEP, maxAgeMs = DEFAULT_MAX_AGE_MS } = workspace.checkpoints ?? {}
    const oldestMs = maxAgeMs === 0 ? 0 : this.#options.clock.wallMs() - maxAgeMs
    const own = (await checkpoints.list(workspace)).filter(({ reason }) => reason !== 'manual')
    const left = own.filter(({ createdAt }, i) => i < own.length - keep || createdAt.getTime() < oldestMs)
    let deleted = 0
    for (const { id } of left) {
      if (inUse.includes(id) || this.#forking.has(id)) continue
      try {
        await checkpoints.remove(workspace, id)
        deleted++
      } catch {
        // It is deleted after the next checkpoint.
      }
    }
    return deleted
  }

  async #get({ checkpoints, workspace }: Checkpointed, id: string): Promise<Checkpoint> {
    const found = (await checkpoints.list(workspace)).find((each) => each.id === id)
    if (found !== undefined) return found
    throw fault(
      'CHECKPOINT_NOT_FOUND',
      `workspace "${workspace.name}" has no checkpoint "${id.slice(0, 80)}"`,
    )
  }

  /** Returns the newest checkpoint of a minimum age. */
  async #before({ checkpoints, workspace }: Checkpointed, ageInput: string): Promise<Checkpoint> {
    const ageMs = parseDuration(ageInput)
    if (ageMs === undefined)
      throw fault(
        'INVALID_REQUEST',
        `to ${JSON.stringify(ageInput.slice(0, 80))} must be the id of a checkpoint, or a duration such as 10m`,
      )
    const latestMs = this.#options.clock.wallMs() - ageMs
    const found = (await checkpoints.list(workspace)).findLast((each) => each.createdAt.getTime() <= latestMs)
    if (found !== undefined) return found
    throw fault(
      'CHECKPOINT_NOT_FOUND',
      `workspace "${workspace.name}" has no checkpoint that is at least ${ageInput} old; see "workspace checkpoints ${workspace.name}"`,
    )
  }

  #find(name: string): Checkpointed {
    const workspace = this.#options.table.get(name)
    const backend = getBackend(this.#options.backends, workspace.backend)
    const { checkpoints } = backend
    if (checkpoints !== undefined) return { workspace, backend, checkpoints }
    throw fault(
      'CHECKPOINT_UNSUPPORTED',
      `${backend.name} workspaces cannot have checkpoints; export "${name}" to keep a copy of its files`,
    )
  }

  async #whileIdle<T>(nameInput: unknown, work: (found: Checkpointed) => Promise<T>): Promise<T> {
    const name = parseWorkspaceName(nameInput)
    const done = await this.#options.lifecycle.whileIdle(name, async () => ({
      result: await work(this.#find(name)),
    }))
    if (done === undefined) throw fault('WORKSPACE_BUSY', `workspace "${name}" is still being created`)
    return done.result
  }
}
