import { ignore } from '../../lib/errors/ignore.ts'
import type { Logger } from '../../lib/log/logger.ts'
import { messageOf } from '../../lib/errors/message.ts'
import { KeyedLock } from '../../lib/process/keyed-lock.ts'
import type { Backend, BackendChange } from '../backend/backend.ts'
import { fault, unavailable } from '../errors.ts'
import { OpenWrites } from './open-writes.ts'
import type { Workspace } from '../workspace.ts'
import type { BackendName } from '../backend-name.ts'
import {
  type CreateDefaults,
  type CreateInput,
  type CreateRequest,
  type ImportedContent,
  parseCreateRequest,
} from './create-request.ts'
import { removeWorkspace } from './remove-workspace.ts'
import { resetWorkspace } from './reset-workspace.ts'
import { restWorkspace } from './rest-workspace.ts'
import { Troubles } from './troubles.ts'
import { createWorkspace, undoCreation, UnfinishedCreation } from './creation.ts'
import type { CreationMarks } from './creation-marks.ts'
import { getBackend } from './get-backend.ts'
import { requestedWorkspace } from './requested-workspace.ts'
import { nameKey, parseWorkspaceName } from '../name.ts'
import type { SnapshotInput, SnapshotLibrary, TakenSnapshot } from '../snapshot/snapshot-library.ts'
import type { SettingsStore } from '../settings/settings-store.ts'
import type { EgressGate } from './workspace-creator.ts'
import type { WorkspaceTable } from './table.ts'
import type { Timeline } from '../timeline/timeline.ts'
import type { Clock } from '../../lib/clock/clock.ts'

interface RunningCreation {
  readonly backend: Backend
  readonly controller: AbortController
  readonly ended: Promise<unknown>
}

/** Dependencies of a Lifecycle. */
export interface LifecycleOptions {
  readonly table: WorkspaceTable
  readonly backends: ReadonlyMap<BackendName, Backend>
  readonly marks: CreationMarks
  readonly settings: SettingsStore
  readonly snapshots: SnapshotLibrary
  readonly defaults: Omit<CreateDefaults, 'getSnapshot'>
  readonly logger: Logger
  readonly clock: Clock
  readonly timeline: Timeline
  readonly egress: EgressGate
}

/**
 * Creates, starts, stops and deletes workspaces, one operation per name at a time, and follows the backends'
 * changes.
 */
export class Lifecycle {
  /** Programs that write files; they end before a workspace stops. */
  readonly writes = new OpenWrites()
  readonly troubles: Troubles
  readonly #options: LifecycleOptions
  readonly #locks = new KeyedLock()
  readonly #creations = new Map<string, RunningCreation>()
  #isClosing = false

  constructor(options: LifecycleOptions) {
    this.#options = options
    this.troubles = new Troubles(options)
    for (const observer of [options.timeline, options.egress])
      options.table.onChange((change) => observer.observe(change))
  }

  /** Connects the backends and rebuilds the table from their workspaces. */
  async open(): Promise<void> {
    for (const backend of this.#options.backends.values()) {
      await backend.open((change) => void this.#onChange(backend, change))
      await this.#onChange(backend, { is: 'resync' })
    }
  }

  /** Aborts and rolls back all creations, including those that still arrive. */
  async endCreations(): Promise<void> {
    this.#isClosing = true
    const reason = fault('BACKEND_UNAVAILABLE', 'the server is stopping')
    const running = [...this.#creations.values()]
    for (const { controller } of running) controller.abort(reason)
    await Promise.allSettled(running.map(({ ended }) => ended))
  }

  /** Aborts all creations and closes the backends. */
  async close(): Promise<void> {
    await this.endCreations()
    await Promise.all([...this.#options.backends.values()].map((backend) => backend.close()))
  }

  /** Validates a request and reserves its name; `make` then does the work. @param content files in place of a clone */
  async prepareCreate(
    input: CreateInput,
    content?: ImportedContent,
  ): Promise<{ make: (progress: (message: string) => void) => Promise<Workspace> }> {
    const { defaults, snapshots } = this.#options
    const getSnapshot = snapshots.getUsable.bind(snapshots)
    const createdAt = new Date(this.#options.clock.wallMs())
    const request = { ...(await parseCreateRequest(input, { ...defaults, getSnapshot }, createdAt)), content }
    input.creator?.checkQuota([request])
    return this.admit(request, createdAt, 'a client requested its creation')
  }

  /** Reserves the name of a validated request; `make` then does the work. */
  admit(
    request: CreateRequest,
    createdAt: Date,
    reason: string,
  ): { make: (progress: (message: string) => void) => Promise<Workspace> } {
    const { backends, table, timeline } = this.#options
    const backend = getBackend(backends, request.backend)
    if (table.find(request.name) === undefined) timeline.because(request.name, reason)
    table.reserve(requestedWorkspace(request, createdAt, { is: 'starting' }))
    return { make: (progress) => this.#create(backend, request, createdAt, progress) }
  }

  async start(nameInput: unknown): Promise<Workspace> {
    return this.#change('start', nameInput, async (workspace, backend) => {
      if (workspace.state.is === 'running')
        throw fault('WORKSPACE_ALREADY_RUNNING', `workspace "${workspace.name}" is already running`)
      return this.#boot(workspace, backend, 'a client requested the start')
    })
  }

  /** Starts a workspace if `isWanted` still returns true once earlier operations on it are done. */
  async startIf(name: string, reason: string, isWanted: (now: Workspace) => boolean): Promise<void> {
    await this.#change('start', name, async (workspace, backend) =>
      isWanted(workspace) ? this.#boot(workspace, backend, reason) : workspace,
    )
  }

  async stop(nameInput: unknown): Promise<Workspace> {
    return this.#change('stop', nameInput, async (workspace, backend) => {
      if (workspace.state.is === 'stopped')
        throw fault('WORKSPACE_ALREADY_STOPPED', `workspace "${workspace.name}" is already stopped`)
      this.#options.timeline.because(workspace.name, 'a client requested the stop')
      return restWorkspace(workspace, backend, 'stop', this.writes)
    })
  }

  /** Saves the memory of a running workspace and stops it; `start` continues its programs. */
  async suspend(nameInput: unknown): Promise<Workspace> {
    return this.#change('suspend', nameInput, async (workspace, backend) => {
      const { name, state } = workspace
      if (state.is !== 'running')
        throw fault(
          'WORKSPACE_NOT_RUNNING',
          `workspace "${name}" is ${state.is}; only a running one can be suspended`,
        )
      this.#options.timeline.because(name, 'a client requested the suspend')
      return backend.suspend(name)
    })
  }

  /** Resets a stopped workspace to its image, discarding everything written in it. */
  async reset(nameInput: unknown): Promise<Workspace> {
    return this.#change('reset', nameInput, async (workspace, backend) => resetWorkspace(workspace, backend))
  }

  /** Takes a snapshot of a stopped workspace; throws like `SnapshotLibrary.take`. */
  async takeSnapshot(sourceInput: unknown, input: SnapshotInput): Promise<TakenSnapshot> {
    return this.#exclusively(sourceInput, (workspace, backend) =>
      this.#options.snapshots.take(workspace, backend, input),
    )
  }

  /**
   * Stops or suspends a running workspace if `isWanted` still returns true once earlier operations on it are
   * done. Returns whether it was.
   */
  async restIf(
    name: string,
    how: 'stop' | 'suspend',
    reason: string,
    isWanted: (now: Workspace) => boolean,
  ): Promise<boolean> {
    let hasStopped = false
    await this.#change(how, name, async (workspace, backend) => {
      if (workspace.state.is !== 'running' || !isWanted(workspace)) return workspace
      this.#options.timeline.because(workspace.name, reason)
      const resting = await restWorkspace(workspace, backend, how, this.writes)
      hasStopped = true
      return resting
    })
    return hasStopped
  }

  /** Removes a workspace in any state, aborting its creation first if necessary. */
  async remove(nameInput: unknown, keepVolume: boolean): Promise<void> {
    const { table } = this.#options
    const name = parseWorkspaceName(nameInput)
    const creation = this.#creations.get(nameKey(name))
    if (creation !== undefined) {
      creation.controller.abort(
        fault('WORKSPACE_BUSY', `workspace "${name}" was deleted while it was being created`),
      )
      await creation.ended.catch(ignore('the client that requested it gets it'))
      if (table.find(name) === undefined) return
    }
    await this.#locks.run(nameKey(name), () => this.#remove(table.get(name), keepVolume))
  }

  /**
   * Runs work under a name's lock, with its workspace, if any, and a function to remove it. Resolves to
   * undefined while a workspace of that name is being created.
   */
  async whileIdle<T>(
    name: string,
    work: (workspace: Workspace | undefined, remove: () => Promise<void>) => Promise<T>,
  ): Promise<T | undefined> {
    if (this.#creations.has(nameKey(name))) return undefined
    return this.#locks.run(nameKey(name), () => {
      const workspace = this.#options.table.find(name)
      return work(workspace, async () => workspace && this.#remove(workspace, false))
    })
  }

  /** Requires the name's lock. */
  #remove(workspace: Workspace, keepVolume: boolean): Promise<void> {
    const backend = getBackend(this.#options.backends, workspace.backend)
    return removeWorkspace(this.#options, backend, workspace, keepVolume)
  }

  async #create(
    backend: Backend,
    request: CreateRequest,
    createdAt: Date,
    progress: (message: string) => void,
  ): Promise<Workspace> {
    const { table, logger, defaults, timeline, egress } = this.#options
    const controller = new AbortController()
    const work = this.#locks.run(nameKey(request.name), () =>
      createWorkspace(backend, this.#options, request, createdAt, {
        progress,
        note: (text) => timeline.note(request.name, text),
        enterPhase: (phase) => timeline.enter(request.name, phase),
        signal: controller.signal,
        logger,
        imageAliases: defaults.imageAliases,
        egress,
      }),
    )
    this.#creations.set(nameKey(request.name), { backend, controller, ended: work })
    if (this.#isClosing) controller.abort(fault('BACKEND_UNAVAILABLE', 'the server is stopping'))
    try {
      const workspace = await work
      timeline.leave(request.name, 'done')
      return table.set(workspace)
    } catch (error) {
      timeline.leave(request.name, 'failed')
      if (!(error instanceof UnfinishedCreation)) {
        table.remove(request.name)
        throw error
      }
      const message = `${error.message}; its remains will be removed as soon as the backend responds`
      table.set(requestedWorkspace(request, createdAt, { is: 'error', message }))
      throw error.cause
    } finally {
      this.#creations.delete(nameKey(request.name))
    }
  }

  async #change(
    what: string,
    nameInput: unknown,
    work: (workspace: Workspace, backend: Backend) => Promise<Workspace>,
  ): Promise<Workspace> {
    const { table, timeline } = this.#options
    return this.#exclusively(nameInput, async (before, backend) => {
      try {
        return table.set(await work(before, backend))
      } catch (error) {
        // The backend knows the cause; the previous state may describe an earlier failure.
        const found = await backend.find(before.name).catch(ignore('the cause is reported'))
        timeline.leave(before.name, 'failed')
        timeline.because(before.name, `the ${what} failed (${messageOf(error)})`)
        table.set(found ?? before)
        throw error
      } finally {
        timeline.endReason(before.name)
      }
    })
  }

  /** Runs work while nothing else changes the workspace. */
  async #exclusively<T>(
    nameInput: unknown,
    work: (workspace: Workspace, backend: Backend) => Promise<T>,
  ): Promise<T> {
    const name = parseWorkspaceName(nameInput)
    if (this.#creations.has(nameKey(name)))
      throw fault('WORKSPACE_BUSY', `workspace "${name}" is still being created`)
    return this.#locks.run(nameKey(name), async () => {
      const workspace = this.#options.table.get(name)
      return work(workspace, getBackend(this.#options.backends, workspace.backend))
    })
  }

  async #onChange(backend: Backend, change: BackendChange): Promise<void> {
    const { timeline, logger } = this.#options
    if (change.is === 'trouble') return this.troubles.note(backend.name, change)
    if (change.is === 'away') return this.#giveUpCreations(backend)
    if (change.is === 'outOfMemory') {
      const message = 'a program in a workspace was killed because it ran out of memory (memory_mb)'
      timeline.note(change.name, message)
      return logger.warn({ workspace: change.name }, message)
    }
    try {
      if (change.is === 'rebooting') await this.#startAgain(backend, change.name)
      else await (change.is === 'resync' ? this.#resync(backend) : this.#refresh(backend, change.name))
    } catch (error) {
      // The engine went away again; its return triggers the next resync.
      logger.warn({ err: error, backend: backend.name }, 'reading state from the backend failed')
    }
  }

  /** Aborts creations on a backend: a program of theirs, such as a clone, would wait for a hanging engine. */
  #giveUpCreations(away: Backend): void {
    const why = away.whyUnavailable ?? 'it does not respond'
    const reason = unavailable(`backend ${away.name} became unavailable during the creation: ${why}`)
    for (const { backend, controller } of this.#creations.values())
      if (backend === away) controller.abort(reason)
  }

  /**
   * Restarts a workspace that stopped in order to reboot, unless somebody has stopped or started it in the
   * meantime.
   */
  async #startAgain(backend: Backend, name: string): Promise<void> {
    const { table, logger } = this.#options
    if (this.#isClosing || table.find(name)?.backend !== backend.name) return this.#refresh(backend, name)
    logger.info({ workspace: name }, 'restarting a workspace that rebooted')
    await this.#change('restart', name, async (workspace) => {
      const found = await backend.find(name)
      const isResting = workspace.state.is === 'stopped' || workspace.state.is === 'suspended'
      if (isResting || found?.state.is !== 'stopped') return found ?? workspace
      return this.#boot(found, backend, 'it rebooted')
    })
  }

  /** Starts a workspace whose lock is held. */
  async #boot(workspace: Workspace, backend: Backend, reason: string): Promise<Workspace> {
    const { table, timeline, egress } = this.#options
    timeline.because(workspace.name, reason)
    table.set({ ...workspace, state: { is: 'starting' } })
    timeline.enter(workspace.name, 'boot')
    const started = await backend.start(workspace.name)
    await egress
      .attach(started)
      .catch(ignore('the gate reports and retries it once the table has the running workspace'))
    timeline.leave(workspace.name, 'done')
    return started
  }

  async #refresh(backend: Backend, name: string): Promise<void> {
    await this.#locks.run(nameKey(name), async () => {
      this.#options.table.reconcile(name, await backend.find(name))
    })
  }

  /** Rolls back unfinished creations, then refreshes workspaces whose state differs from the backend's. */
  async #resync(backend: Backend): Promise<void> {
    if (!backend.isAvailable) return
    const { table, marks } = this.#options
    for (const { name, backend: where } of await marks.list()) {
      if (where === backend.name) await this.#undoUnfinished(backend, name)
    }
    const reported = new Map((await backend.list()).map((workspace) => [nameKey(workspace.name), workspace]))
    const listed = table.list().filter((workspace) => workspace.backend === backend.name)
    for (const workspace of listed) {
      const other = reported.get(nameKey(workspace.name))
      const isSame = other?.containerId === workspace.containerId && other.state.is === workspace.state.is
      reported.delete(nameKey(workspace.name))
      // The pending operation holds the lock and will report the outcome.
      if (!isSame && workspace.state.is !== 'starting') await this.#refresh(backend, workspace.name)
    }
    for (const workspace of reported.values()) await this.#refresh(backend, workspace.name)
    this.troubles.addToTimelines()
  }

  /**
   * Rolls back an unfinished creation. A failure must not prevent the other workspaces from being refreshed.
   */
  async #undoUnfinished(backend: Backend, name: string): Promise<void> {
    const { table, marks, logger } = this.#options
    if (this.#creations.has(nameKey(name))) return
    try {
      await this.#locks.run(nameKey(name), async () => {
        // Since the marks were listed, the creation may have succeeded, or the name may have been deleted and
        // created again.
        const mark = await marks.find(name)
        if (mark === undefined) return
        await undoCreation(backend, this.#options, mark)
        table.remove(name)
        logger.warn({ workspace: name }, 'removed the remains of an unfinished creation')
      })
    } catch (error) {
      logger.warn({ err: error, workspace: name }, 'cannot remove the remains of an unfinished creation')
    }
  }
}
