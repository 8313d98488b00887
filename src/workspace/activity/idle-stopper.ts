import { messageOf } from '../../lib/errors/message.ts'
import type { Logger } from '../../lib/log/logger.ts'
import type { AuditLog } from '../audit/audit-log.ts'
import type { Lifecycle } from '../lifecycle/lifecycle.ts'
import type { WorkspaceTable } from '../lifecycle/table.ts'
import type { SessionDirectory } from '../session/session-directory.ts'
import type { ActivityTable } from './activity-table.ts'

const LONGEST_INTERVAL_MS = 30_000

export interface IdleStopperOptions {
  /** 0 stops nothing, ever. */
  readonly timeoutMs: number
  readonly table: WorkspaceTable
  readonly activity: ActivityTable
  readonly sessions: SessionDirectory
  readonly lifecycle: Lifecycle
  readonly audit: AuditLog
  readonly logger: Logger
}

/** Stops running workspaces that nobody has used for some time. */
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

  /** Waits for nothing: a stop under way is the lifecycle's. */
  close(): void {
    clearInterval(this.#timer)
  }

  /** Looks at every running workspace once; a check that is under way is joined. */
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
      // Asked last, since it runs a program inside. Whoever is attached may have come another way than through us.
      if (await sessions.isAttached(name)) return activity.touch(name)
      if (!(await lifecycle.stopIf(name, isIdle))) return
      logger.info({ workspace: name, idleTimeoutMs: timeoutMs }, 'stopped a workspace that nobody used')
      const subject = { action: 'workspace.stop', workspace: name, address: '', reason: 'idle' } as const
      audit.record(subject, { outcome: 'ok' })
    } catch (error) {
      // Often it was stopped, deleted or taken by somebody else meanwhile. Whether it is in use is then asked again.
      logger.info({ workspace: name, why: messageOf(error) }, 'a workspace that nobody used was not stopped')
    }
  }
}
