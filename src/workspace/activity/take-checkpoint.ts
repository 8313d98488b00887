import { messageOf } from '../../lib/errors/message.ts'
import type { Logger } from '../../lib/log/logger.ts'
import type { AuditLog } from '../audit/audit-log.ts'
import type { Checkpointer } from '../lifecycle/checkpointer.ts'

/** Dependencies of automatic checkpoints. */
export interface TakeCheckpointOptions {
  readonly checkpointer: Pick<Checkpointer, 'takeForPlan'>
  readonly audit: Pick<AuditLog, 'record'>
  readonly logger: Logger
}

/**
 * Takes a checkpoint of a workspace, and deletes older ones, if it has a plan. Both are audited; a failure is logged, because
 * the workspace was usually stopped, deleted or locked meanwhile.
 */
export async function takeCheckpoint(
  { checkpointer, audit, logger }: TakeCheckpointOptions,
  name: string,
  reason: Parameters<Checkpointer['takeForPlan']>[1],
): Promise<void> {
  try {
    const { taken, deleted } = await checkpointer.takeForPlan(name, reason)
    const record = (action: 'checkpoint.create' | 'checkpoint.delete', times: number): void => {
      for (let i = 0; i < times; i++)
        audit.record({ action, workspace: name, address: '', reason }, { outcome: 'ok' })
    }
    record('checkpoint.create', taken)
    record('checkpoint.delete', deleted)
  } catch (error) {
    logger.info({ workspace: name, why: messageOf(error) }, 'could not take a checkpoint')
  }
}
