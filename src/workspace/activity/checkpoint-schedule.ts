import type { Clock } from '../../lib/clock/clock.ts'
import { messageOf } from '../../lib/errors/message.ts'
import type { Checkpointer } from '../lifecycle/checkpointer.ts'
import type { WorkspaceTable } from '../lifecycle/table.ts'
import { nameKey } from '../name.ts'
import type { Workspace } from '../workspace.ts'
import { takeCheckpoint, type TakeCheckpointOptions } from './take-checkpoint.ts'
import { WorkspaceChecks } from './workspace-checks.ts'

const INTERVAL_MS = 10_000

/** Dependencies of a CheckpointSchedule. */
export interface CheckpointScheduleOptions extends TakeCheckpointOptions {
  readonly table: WorkspaceTable
  readonly checkpointer: Pick<Checkpointer, 'takeForPlan' | 'list'>
  readonly clock: Clock
}

/** Takes checkpoints of running workspaces at the intervals of their plans. */
export class CheckpointSchedule {
  readonly #options: CheckpointScheduleOptions
  /** Times of the last checkpoints by the monotonic clock, by name. */
  readonly #lastMs = new Map<string, number>()
  readonly #checks = new WorkspaceChecks()
  #timer: NodeJS.Timeout | undefined

  constructor(options: CheckpointScheduleOptions) {
    this.#options = options
    options.table.onChange((change) => {
      if (change.type === 'deleted') this.#lastMs.delete(nameKey(change.name))
    })
  }

  start(): void {
    this.#timer = setInterval(() => void this.check(), INTERVAL_MS).unref()
  }

  /** Stops the timer and waits for checkpoints in progress. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#checks.ended()
  }

  /** Checks every workspace once. Joins checks that are already in progress. */
  async check(): Promise<void> {
    await this.#checks.run(this.#options.table.list(), (workspace) => this.#checkOne(workspace))
  }

  async #checkOne({ name, checkpoints, state }: Workspace): Promise<void> {
    const { logger, clock } = this.#options
    const everyMs = checkpoints?.everyMs ?? 0
    if (everyMs === 0 || state.is !== 'running') return
    try {
      const lastMs = this.#lastMs.get(nameKey(name)) ?? (await this.#readLast(name))
      this.#lastMs.set(nameKey(name), lastMs)
      if (clock.nowMs() - lastMs < everyMs) return
      this.#lastMs.set(nameKey(name), clock.nowMs())
      await takeCheckpoint(this.#options, name, 'schedule')
    } catch (error) {
      // The next one is due after the interval.
      this.#lastMs.set(nameKey(name), clock.nowMs())
      logger.info({ workspace: name, why: messageOf(error) }, 'could not list its checkpoints')
    }
  }

  /** Returns when the last checkpoint was taken; now, if there is none, or its time is in the future. */
  async #readLast(name: string): Promise<number> {
    const { checkpointer, clock } = this.#options
    const last = (await checkpointer.list(name)).at(-1)
    const ageMs = last === undefined ? 0 : clock.wallMs() - last.createdAt.getTime()
    return clock.nowMs() - Math.max(0, ageMs)
  }
}
