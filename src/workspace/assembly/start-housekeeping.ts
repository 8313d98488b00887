import { join } from 'node:path'
import type { DisposalStack } from '../../lib/lifetime/disposal-stack.ts'
import { CheckpointSchedule, type CheckpointScheduleOptions } from '../activity/checkpoint-schedule.ts'
import { Expirer, type ExpirerOptions } from '../activity/expirer.ts'
import { IdleStopper, type IdleStopperOptions } from '../activity/idle-stopper.ts'
import { Scheduler, type SchedulerOptions } from '../activity/scheduler.ts'
import type { WorkspaceConfig } from '../config.ts'
import { SCHEDULE_FILE } from '../state-dir.ts'

type Parts = ExpirerOptions &
  Omit<SchedulerOptions, 'defaults' | 'file'> &
  CheckpointScheduleOptions &
  Omit<IdleStopperOptions, 'stopAfterMs' | 'suspendAfterMs'>

/** Starts what happens to workspaces without a request: idle limits, expiries, checkpoints and schedules. */
export async function startHousekeeping(
  config: Pick<WorkspaceConfig, 'idleTimeoutMs' | 'idle' | 'schedule' | 'stateDir'>,
  parts: Parts & { readonly opened: DisposalStack },
): Promise<void> {
  const limits = { stopAfterMs: config.idleTimeoutMs, suspendAfterMs: config.idle.suspendAfterMs }
  for (const each of [
    new IdleStopper({ ...limits, ...parts }),
    new Expirer(parts),
    new CheckpointSchedule(parts),
  ]) {
    each.start()
    parts.opened.use(each)
  }
  const file = join(config.stateDir, SCHEDULE_FILE)
  await parts.opened.use(new Scheduler({ ...parts, defaults: config.schedule, file })).start()
}
