import type { DisposalStack } from '../../lib/lifetime/disposal-stack.ts'
import { IdleStopper, type IdleStopperOptions } from '../activity/idle-stopper.ts'
import type { WorkspaceConfig } from '../config.ts'

type Parts = Omit<IdleStopperOptions, 'stopAfterMs' | 'suspendAfterMs'>

/** Starts what stops and suspends workspaces without a request. */
export function startHousekeeping(
  config: Pick<WorkspaceConfig, 'idleTimeoutMs' | 'idle'>,
  parts: Parts & { readonly opened: DisposalStack },
): void {
  const limits = { stopAfterMs: config.idleTimeoutMs, suspendAfterMs: config.idle.suspendAfterMs }
  const idle = new IdleStopper({ ...limits, ...parts })
  idle.start()
  parts.opened.use(idle)
}
