import type { AlarmClock } from '../../lib/clock/clock.ts'
import type { Logger } from '../../lib/log/logger.ts'
import type { AuditLog } from '../audit/audit-log.ts'
import type { Backend } from '../backend/backend.ts'
import type { BackendName } from '../backend-name.ts'
import { EgressProxies } from '../egress/egress-proxies.ts'
import type { EgressSettings } from '../egress/settings.ts'
import type { WorkspaceTable } from '../lifecycle/table.ts'
import type { Timeline } from '../timeline/timeline.ts'

/** Creates the egress proxies of the configured profiles. */
export function openEgress(
  {
    config,
    state,
    audit,
    clock,
    logger,
  }: {
    readonly config: { readonly egress: EgressSettings }
    readonly state: { readonly path: string }
    readonly audit: AuditLog
    readonly clock: AlarmClock
    readonly logger: Logger
  },
  {
    table,
    backends,
    timeline,
  }: {
    readonly table: WorkspaceTable
    readonly backends: ReadonlyMap<BackendName, Backend>
    readonly timeline: Timeline
  },
): EgressProxies {
  return new EgressProxies({
    settings: config.egress,
    find: (name) => table.find(name),
    backendOf: ({ backend }) => backends.get(backend),
    stateDir: state.path,
    note: (name, text) => timeline.note(name, text),
    audit,
    clock,
    logger,
  })
}
