import { isFault } from '../../lib/errors/fault.ts'
import { messageOf } from '../../lib/errors/message.ts'
import type { Lifecycle } from '../lifecycle/lifecycle.ts'
import type { WorkspaceTable } from '../lifecycle/table.ts'
import type { RestKind } from '../schedule.ts'
import type { Workspace } from '../workspace.ts'
import type { SessionDirectory } from '../session/session-directory.ts'
import type { ActivityTable } from './activity-table.ts'
import { takeCheckpoint, type TakeCheckpointOptions } from './take-checkpoint.ts'
import { WorkspaceChecks } from './workspace-checks.ts'

const LONGEST_INTERVAL_MS = 30_000

/** Dependencies of an IdleStopper. */
export interface IdleStopperOptions extends TakeCheckpointOptions {
  /** Idle time after which a workspace without its own limit is stopped; 0: never. */
  readonly stopAfterMs: number
  /** Idle time after which a workspace whose memory can be saved is suspended instead; 0: never. */
  readonly suspendAfterMs: number
  /** Knows the idle time in ms that a workspace must not exceed, regardless of its limit; 0 without a limit. */
  readonly access: { readonly idleQuotaOf: (workspace: Workspace) => number }
  readonly table: WorkspaceTable
  readonly activity: ActivityTable
  readonly sessions: SessionDirectory
  readonly lifecycle: Lifecycle
}

interface IdleLimit {
  readonly how: RestKind
  readonly limitMs: number
  readonly reason: string
}

/** Stops or suspends running workspaces that have been idle for too long, by their own limits or the server's. */
export class IdleStopper {
  readonly #options: IdleStopperOptions
  #timer: NodeJS.Timeout | undefined
  readonly #checks = new WorkspaceChecks()
  /** Runs of workspaces that turned out not to be suspendable, by `runOf`. */
  readonly #unsuspendable = new Set<string>()

  constructor(options: IdleStopperOptions) {
    this.#options = options
  }

  start(): void {
    const { stopAfterMs, suspendAfterMs } = this.#options
    const shortestMs = Math.min(...[stopAfterMs, suspendAfterMs].filter((ms) => ms > 0))
    this.#timer = setInterval(() => void this.check(), Math.min(shortestMs / 4, LONGEST_INTERVAL_MS)).unref()
  }

  /** Stops the timer. Does not wait for a stop in progress: that belongs to the lifecycle. */
  close(): void {
    clearInterval(this.#timer)
  }

  /** Checks every running workspace once. Joins checks that are already in progress. */
  async check(): Promise<void> {
    const running = this.#options.table.list().filter((workspace) => workspace.state.is === 'running')
    const runs = new Set(running.map(runOf))
    for (const run of this.#unsuspendable) if (!runs.has(run)) this.#unsuspendable.delete(run)
    await this.#checks.run(running, (workspace) => this.#checkOne(workspace))
  }

  async #checkOne(workspace: Workspace): Promise<void> {
    const { activity, sessions, lifecycle, audit, logger } = this.#options
    const { name } = workspace
    const { how, limitMs, reason } = this.#limitOf(workspace)
    const isIdle = (now: Workspace): boolean =>
      limitMs > 0 && activity.idleMs(name) >= limitMs && this.#limitOf(now).limitMs === limitMs
    if (!isIdle(workspace)) return
    try {
      // Checked last, because it runs a program inside. A user may be attached by a route that bypasses this
      // server.
      if (await sessions.isAttached(name)) return activity.touch(name)
      if (!(await lifecycle.restIf(name, how, reason, isIdle))) return
      const done = how === 'stop' ? 'stopped' : 'suspended'
      logger.info({ workspace: name, limitMs }, `${done} an idle workspace`)
      const subject = { action: `workspace.${how}`, workspace: name, address: '', reason: 'idle' } as const
      audit.record(subject, { outcome: 'ok' })
      await takeCheckpoint(this.#options, name, 'idle')
    } catch (error) {
      if (isFault(error) && error.code === 'SUSPEND_UNSUPPORTED') this.#unsuspendable.add(runOf(workspace))
      // The workspace was usually stopped, deleted or locked by another request in the meantime. The next
      // check looks at it again.
      logger.info({ workspace: name, why: messageOf(error) }, `could not ${how} an idle workspace`)
    }
  }

  /** The action and limit that apply to a workspace; 0 for never. */
  #limitOf(workspace: Workspace): IdleLimit {
    const limit = this.#ownLimitOf(workspace)
    if (workspace.settingsError !== undefined) return { ...limit, limitMs: 0 }
    const quotaMs = this.#options.access.idleQuotaOf(workspace)
    if (quotaMs === 0 || (limit.limitMs > 0 && limit.limitMs <= quotaMs)) return limit
    return { ...limit, limitMs: quotaMs, reason: idleFor('team.quota.idle') }
  }

  #ownLimitOf(workspace: Workspace): IdleLimit {
    const { idle } = workspace
    const suspendAfterMs = idle?.suspendAfterMs ?? this.#options.suspendAfterMs
    if (suspendAfterMs > 0 && !this.#unsuspendable.has(runOf(workspace))) {
      const setting = idle?.suspendAfterMs === undefined ? 'idle.suspend_after' : 'its suspend_after'
      return { how: 'suspend', limitMs: suspendAfterMs, reason: idleFor(setting) }
    }
    const stopAfterMs = idle?.stopAfterMs ?? this.#options.stopAfterMs
    const setting = idle?.stopAfterMs === undefined ? 'idle_timeout' : 'its stop_after'
    return { how: 'stop', limitMs: stopAfterMs, reason: idleFor(setting) }
  }
}

function idleFor(setting: string): string {
  return `it was idle for ${setting}`
}

/** Identifies a run of a workspace: how a virtual machine was started decides whether it can be suspended. */
function runOf({ containerId, pid }: Workspace): string {
  return `${containerId} ${pid}`
}
