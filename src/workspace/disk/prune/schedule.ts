import type { Logger } from '../../../lib/log/logger.ts'
import type { AuditLog } from '../../audit/audit-log.ts'
import type { Pruner } from './pruner.ts'
import type { PruneRequest } from './request.ts'

/** The longest interval that setInterval accepts. */
const LONGEST_INTERVAL_MS = 2 ** 31 - 1

/** Options of a prune schedule. */
export interface PruneScheduleOptions {
  /** Interval between prunes; 0 disables them. */
  readonly everyMs: number
  readonly request: PruneRequest
  readonly pruner: Pick<Pruner, 'apply'>
  readonly audit: AuditLog
  readonly logger: Logger
}

/** Prunes at regular intervals, first after one interval. */
export class PruneSchedule {
  readonly #options: PruneScheduleOptions
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined

  constructor(options: PruneScheduleOptions) {
    this.#options = options
  }

  start(): void {
    const { everyMs } = this.#options
    if (everyMs <= 0) return
    this.#timer = setInterval(() => void this.run(), Math.min(everyMs, LONGEST_INTERVAL_MS)).unref()
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#running
  }

  /** Prunes now, or joins a prune that is already running. */
  async run(): Promise<void> {
    this.#running ??= this.#prune().finally(() => (this.#running = undefined))
    await this.#running
  }

  async #prune(): Promise<void> {
    const { pruner, request, audit, logger } = this.#options
    const subject = { action: 'system.prune', workspace: '', address: '', reason: 'schedule' } as const
    try {
      const { items, freed } = await audit.follow(subject, () => pruner.apply(request, () => undefined))
      const failed = items.filter(({ action }) => action === 'failed')
      logger.info(
        { items: items.length, failed: failed.length, freedBytes: freed.physicalBytes },
        'scheduled prune finished',
      )
    } catch (error) {
      logger.warn({ err: error }, 'scheduled prune failed')
    }
  }
}
