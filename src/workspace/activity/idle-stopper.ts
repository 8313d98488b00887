import { messageOf } from '../../lib/errors/message.ts'
import type { Logger } from '../../lib/log/logger.ts'
import type { AuditLog } from '../audit/audit-log.ts'
import type { Lifecycle } from '../lifecycle/lifecycle.ts'
import type { WorkspaceTable } from '../lifecycle/table.ts'
import type { SessionDirectory } from '../session/session-directory.ts'
import type { ActivityTable } from './activity-table.ts'

const LONGEST_INTERVAL_MS = 30_000

/** Dependencies of an IdleStopper. */
export interface IdleStopperOptions {
  /** Idle time after which a workspace is stopped; 0 disables stopping. */
  readonly timeoutMs: number
  readonly table: WorkspaceTable
  readonly activity: ActivityTable
  readonly sessions: SessionDirectory
  readonly lifecycle: Lifecycle
  readonly audit: AuditLog
  readonly logger: Logger
}

/** Stops running workspaces that have been idle for longer than the timeout. */
export class IdleStopper {
  readonly #options: IdleStopperOptions
  #timer: NodeJS.Timeout | undefined
  #checking: Promise<unknown> | undefined

  constructor(options: IdleStopperOptions) {
    this.#options = options
  }

  start(): void {
    const { timeoutMs } = this.#options
    if (timeoutMs <= 0) return
    this.#timer = setInterval(() => void this.check(), Math.min(timeoutMs / 4, LONGEST_INTERVAL_MS)).unref()
  }

  /** Stops the timer. Does not wait for a stop in progress: that belongs to the lifecycle. */
  close(): void {
    clearInterval(this.#timer)
  }

  /** Checks every running workspace once. Joins a check that is already in progress. */
  async check(): Promise<void> {
    const running = this.#options.table.list().filter((workspace) => workspace.state.is === 'running')
    this.#checking ??= Promise.all(running.map(({ name }) => this.#checkOne(name))).finally(
      () => (this.#checking = undefined),
    )
    await this.#checking
  }

  async #checkOne(name: string): Promise<void> {
    const { activity, sessions, lifecycle, audit, logger, timeoutMs } = this.#options
    const isIdle = (): boolean => activity.idleMs(name) >= timeoutMs
    if (!isIdle()) return
    try {
      // Checked last, because it runs a program inside. A user may be attached by a route that bypasses this
      // server.
      if (await sessions.isAttached(name)) return activity.touch(name)
      if (!(await lifecycle.stopIf(name, isIdle))) return
      logger.info({ workspace: name, idleTimeoutMs: timeoutMs }, 'stopped an idle workspace')
      const subject = { action: 'workspace.stop', workspace: name, address: '', reason: 'idle' } as const
      audit.record(subject, { outcome: 'ok' })
    } catch (error) {
      // The workspace was usually stopped, deleted or locked by another request in the meantime. The next
      // check looks at it again.
      logger.info({ workspace: name, why: messageOf(error) }, 'could not stop an idle workspace')
    }
  }
}
