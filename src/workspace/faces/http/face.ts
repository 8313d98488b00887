import type { EncodeWorkspace } from '../../api/workspace.ts'
import type { Clock } from '../../../lib/clock/clock.ts'
import type { ActivityTable } from '../../activity/activity-table.ts'
import type { AuditLog } from '../../audit/audit-log.ts'
import type { Backend } from '../../backend/backend.ts'
import type { Bus } from '../../bus/bus.ts'
import type { BusCluster } from '../../bus/cluster/cluster.ts'
import type { WorkspaceConfig } from '../../config.ts'
import type { Compactor } from '../../disk/compactor.ts'
import type { Pruner } from '../../disk/prune/pruner.ts'
import type { DiskReporter } from '../../disk/report.ts'
import type { EgressProxies } from '../../egress/egress-proxies.ts'
import type { ImageLibrary } from '../../image/image-library.ts'
import type { Checkpointer } from '../../lifecycle/checkpointer.ts'
import type { Entrance } from '../../lifecycle/entrance.ts'
import type { Forker } from '../../lifecycle/forker.ts'
import type { Lifecycle } from '../../lifecycle/lifecycle.ts'
import type { Renamer } from '../../lifecycle/renamer.ts'
import type { SettingsEditor } from '../../lifecycle/settings-editor.ts'
import type { WorkspaceTable } from '../../lifecycle/table.ts'
import type { AccessControl } from '../../team/access-control.ts'
import type { DeviceLogin } from '../../team/device-login.ts'
import type { OpenUses } from '../../team/open-uses.ts'
import type { Team } from '../../team/team.ts'
import type { TicketTable } from '../../tickets/ticket-table.ts'
import type { Timeline } from '../../timeline/timeline.ts'
import type { ProcessTable } from '../../program/process-table.ts'
import type { SessionDirectory } from '../../session/session-directory.ts'
import type { SnapshotLibrary } from '../../snapshot/snapshot-library.ts'
import type { UsageSampler } from '../../usage/usage-sampler.ts'
import type { BackendName } from '../../backend-name.ts'
import type { Gate } from './team/gate.ts'

/** Dependencies of the HTTP routes. */
export interface HttpFace {
  readonly config: WorkspaceConfig
  readonly version: string
  readonly hostKey: string
  readonly ports: { readonly http: number; readonly ssh: number }
  readonly availableBackends: () => readonly BackendName[]
  readonly table: WorkspaceTable
  readonly timeline: Timeline
  readonly encode: EncodeWorkspace
  readonly backends: ReadonlyMap<BackendName, Backend>
  readonly lifecycle: Lifecycle
  readonly egress: EgressProxies
  readonly editor: SettingsEditor
  readonly renamer: Renamer
  readonly forker: Forker
  readonly checkpointer: Checkpointer
  readonly entrance: Entrance
  readonly audit: AuditLog
  readonly activity: ActivityTable
  readonly disk: DiskReporter
  readonly pruner: Pruner
  readonly compactor: Compactor
  readonly sessions: SessionDirectory
  readonly processes: ProcessTable
  readonly tickets: TicketTable
  readonly access: AccessControl
  readonly uses: OpenUses
  /** Undefined on a server without users. */
  readonly team: Team | undefined
  /** Undefined without an OpenID provider. */
  readonly login: DeviceLogin | undefined
  readonly gate: Gate
  readonly clock: Clock
  readonly usage: UsageSampler
  readonly images: ImageLibrary
  readonly snapshots: SnapshotLibrary
  readonly bus: Bus
  /** This server's bus together with those of its peers. */
  readonly cluster: BusCluster
}
