import type { DisposalStack } from '../../lib/lifetime/disposal-stack.ts'
import { Expirer, type ExpirerOptions } from '../activity/expirer.ts'
import { IdleStopper, type IdleStopperOptions } from '../activity/idle-stopper.ts'
import type { WorkspaceConfig } from '../config.ts'

type Parts = ExpirerOptions & Omit<IdleStopperOptions, 'stopAfterMs' | 'suspendAfterMs'>

/** Starts what stops, suspends and deletes workspaces without a request: idle limits and expiries. */
export function startHousekeeping(
  config: Pick<WorkspaceConfig, 'idleTimeoutMs' | 'idle'>,
  parts: Parts & { readonly opened: DisposalStack },
): void {
  const limits = { stopAfterMs: config.idleTimeoutMs, suspendAfterMs: config.idle.suspendAfterMs }
  for (const each of [new IdleStopper({ ...limits, ...parts }), new Expirer(parts)]) {
    each.start()
    parts.opened.use(each)
  }
}
