import type { Clock } from '../../lib/clock/clock.ts'
import { messageOf } from '../../lib/errors/message.ts'
import type { Logger } from '../../lib/log/logger.ts'
import type { AuditLog } from '../audit/audit-log.ts'
import { shortDuration } from '../disk/short-duration.ts'
import type { Lifecycle } from '../lifecycle/lifecycle.ts'
import type { SettingsEditor } from '../lifecycle/settings-editor.ts'
import type { WorkspaceTable } from '../lifecycle/table.ts'
import { nameKey } from '../name.ts'
import type { Expiry } from '../workspace-settings.ts'
import type { Timeline } from '../timeline/timeline.ts'
import type { Workspace } from '../workspace.ts'
import { ExpiryWatch } from './expiry-watch.ts'
import { WorkspaceChecks } from './workspace-checks.ts'
import { attachmentOf, useOf, type UseSources } from './workspace-use.ts'

const INTERVAL_MS = 5_000

/** Dependencies of an Expirer. */
export interface ExpirerOptions extends UseSources {
  readonly table: WorkspaceTable
  readonly lifecycle: Pick<Lifecycle, 'whileIdle' | 'restIf'>
  readonly editor: Pick<SettingsEditor, 'endExpiry'>
  readonly timeline: Timeline
  readonly audit: AuditLog
  readonly logger: Logger
  readonly clock: Clock
}

/** A workspace that expires. */
interface Expiring extends Workspace {
  readonly expiry: Expiry
}

interface Watched {
  readonly watch: ExpiryWatch
  readonly expiring: Expiring
}

/**
 * Stops or deletes workspaces that have expired. One in use waits until nobody uses it: no SSH session,
 * terminal, tunnel, port connection or request, no program started over the API, and nobody attached to its
 * tmux sessions. When that cannot be determined, it waits as well.
 */
export class Expirer {
  readonly #options: ExpirerOptions
  /** By name. */
  readonly #watched = new Map<string, Watched>()
  #timer: NodeJS.Timeout | undefined
  readonly #checks = new WorkspaceChecks()

  constructor(options: ExpirerOptions) {
    this.#options = options
    options.table.onChange((change) => {
      if (change.type === 'deleted') this.#watched.delete(nameKey(change.name))
      else this.#watchOf(change.workspace)
    })
    for (const workspace of options.table.list()) this.#watchOf(workspace)
  }

  start(): void {
    this.#timer = setInterval(() => void this.check(), INTERVAL_MS).unref()
    void this.check()
  }

  /** Stops the timer and waits for an action in progress. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#checks.ended()
  }

  /** Checks every workspace once. Joins checks that are already in progress. */
  async check(): Promise<void> {
    await this.#checks.run(this.#options.table.list(), (workspace) => this.#checkOne(workspace))
  }

  async #checkOne(workspace: Workspace): Promise<void> {
    const watched = this.#watchOf(workspace)
    if (watched === undefined) return
    const { watch, expiring } = watched
    const { clock, logger } = this.#options
    const { name, expiry } = expiring
    const state = watch.check(clock.wallMs(), clock.nowMs())
    if (state.is === 'ahead') return this.#announce(watch, expiring, state.leftMs)
    try {
      if (state.is === 'due') return await this.#expire(watch, expiring)
      const why = state.is === 'late' ? 'while the server did not run' : 'when the system clock was set'
      const message = `it expired ${why}; it will be ${outcomeOf(expiry)} in ${shortDuration(state.leftMs)}`
      if (this.#note(watch, name, `${message}; ${remedyFor(name)}`, state.is))
        logger.warn({ workspace: name }, message)
    } catch (error) {
      const message = `it expired and could not be ${outcomeOf(expiry)}: ${messageOf(error)}`
      if (this.#note(watch, name, message)) logger.warn({ workspace: name, err: error }, message)
    }
  }

  #announce(watch: ExpiryWatch, { name, expiry }: Expiring, leftMs: number): void {
    const announcement = ExpiryWatch.announcementOf(leftMs)
    if (announcement === undefined) return
    const text = `it expires in ${shortDuration(leftMs)} and will then be ${outcomeOf(expiry)}`
    this.#note(watch, name, `${text}; ${remedyFor(name)}`, announcement)
  }

  async #expire(watch: ExpiryWatch, expiring: Expiring): Promise<void> {
    const { name, expiry } = expiring
    const { action } = expiry
    const act = action === 'delete' ? this.#delete(watch, expiring) : this.#stop(watch, expiring)
    if (!(await act)) return
    const { logger, audit } = this.#options
    logger.info({ workspace: name, expiredAt: expiry.at, action }, 'a workspace expired')
    const subject = {
      action: `workspace.${action}`,
      workspace: name,
      address: '',
      reason: 'expired',
    } as const
    audit.record(subject, { outcome: 'ok' })
  }

  async #delete(watch: ExpiryWatch, workspace: Expiring): Promise<boolean> {
    const isDeleted = await this.#options.lifecycle.whileIdle(workspace.name, async (now, remove) => {
      // A creation or a start under way may have ended.
      if (now === undefined || !isSame(now, workspace) || now.state.is === 'starting') return false
      if (await this.#waits(watch, now)) return false
      // A use may have begun since.
      if (useOf(this.#options, now.name) !== undefined) return false
      await remove()
      return true
    })
    return isDeleted === true
  }

  async #stop(watch: ExpiryWatch, workspace: Expiring): Promise<boolean> {
    const { lifecycle, editor } = this.#options
    const { state, name, expiry } = workspace
    if (state.is === 'starting') return false
    let isStopped = false
    if (state.is === 'running') {
      if (await this.#waits(watch, workspace)) return false
      const reason = `it expired at ${expiry.at.toISOString()}`
      const isWanted = (now: Workspace): boolean =>
        isSame(now, workspace) && useOf(this.#options, now.name) === undefined
      isStopped = await lifecycle.restIf(name, 'stop', reason, isWanted)
      if (!isStopped) return false
    }
    await editor.endExpiry(workspace)
    return isStopped
  }

  /** Returns whether an expired workspace is still in use, which its timeline then shows. */
  async #waits(watch: ExpiryWatch, workspace: Workspace): Promise<boolean> {
    const use = useOf(this.#options, workspace.name) ?? (await attachmentOf(this.#options, workspace))
    if (use === undefined) return false
    this.#note(watch, workspace.name, `it expired, but is still in use (${use}); it waits until that ends`)
    return true
  }

  /** Adds a note to the timeline, once for each subject. Returns whether it is new. */
  #note(watch: ExpiryWatch, name: string, text: string, subject = text): boolean {
    if (!watch.isNew(subject)) return false
    this.#options.timeline.note(name, text)
    return true
  }

  /** Returns the watch of a workspace, a new one if its expiry has changed; undefined if it does not expire. */
  #watchOf(workspace: Workspace): Watched | undefined {
    const key = nameKey(workspace.name)
    if (!isExpiring(workspace)) {
      this.#watched.delete(key)
      return undefined
    }
    const existing = this.#watched.get(key)
    const { clock } = this.#options
    const watch =
      existing !== undefined && isSame(workspace, existing.expiring)
        ? existing.watch
        : new ExpiryWatch(workspace.expiry.at.getTime(), clock.wallMs(), clock.nowMs())
    const watched = { watch, expiring: workspace }
    this.#watched.set(key, watched)
    return watched
  }
}

function isExpiring(workspace: Workspace): workspace is Expiring {
  return workspace.expiry !== undefined && workspace.settingsError === undefined
}

function isSame(now: Workspace, before: Expiring): boolean {
  return (
    isExpiring(now) &&
    now.createdAt.getTime() === before.createdAt.getTime() &&
    now.expiry.at.getTime() === before.expiry.at.getTime() &&
    now.expiry.action === before.expiry.action
  )
}

function outcomeOf({ action }: Expiry): string {
  return action === 'delete' ? 'deleted with its files' : 'stopped'
}

function remedyFor(name: string): string {
  return `extend it with "workspace set ${name} --expires 8h"`
}
