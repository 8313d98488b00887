import type { DisposalStack } from '../../lib/lifetime/disposal-stack.ts'
import type { Logger } from '../../lib/log/logger.ts'
import type { AuditLog } from '../audit/audit-log.ts'
import type { Backend } from '../backend/backend.ts'
import type { WorkspaceConfig } from '../config.ts'
import type { ImageLibrary } from '../image/image-library.ts'
import { imageBackendsOf, openImageStore } from './open-images.ts'
import type { Lifecycle } from '../lifecycle/lifecycle.ts'
import type { SnapshotLibrary } from '../snapshot/snapshot-library.ts'
import type { WorkspaceTable } from '../lifecycle/table.ts'
import { Compactor } from '../disk/compactor.ts'
import type { MachineRoot } from '../disk/machine-root.ts'
import { ClockWatch } from '../disk/prune/clock-watch.ts'
import { Pruner } from '../disk/prune/pruner.ts'
import { PruneSchedule } from '../disk/prune/schedule.ts'
import { DiskReporter } from '../disk/report.ts'
import { resumeTrash } from '../disk/resume-trash.ts'
import type { Walker } from '../disk/walker.ts'
import type { Clock } from '../../lib/clock/clock.ts'

/** Disk reporting, pruning and compaction. */
export interface DiskMaintenance {
  readonly disk: DiskReporter
  readonly pruner: Pruner
  readonly compactor: Compactor
}

/**
 * Opens disk reporting, pruning and compaction for the configured backends, and resumes deletions that a
 * crash interrupted.
 */
export async function openDiskMaintenance(parts: {
  readonly config: WorkspaceConfig
  /** Whether this server owns the files of the configured VM backends. */
  readonly hasRoots: boolean
  readonly table: WorkspaceTable
  readonly lifecycle: Lifecycle
  readonly snapshots: SnapshotLibrary
  readonly backends: readonly Backend[]
  readonly images: ImageLibrary
  readonly walker: Walker
  readonly audit: AuditLog
  readonly logger: Logger
  readonly clock: Clock
  readonly opened: DisposalStack
}): Promise<DiskMaintenance> {
  const { config, hasRoots, audit, logger, opened } = parts
  const roots: readonly MachineRoot[] = await Promise.all(
    (hasRoots ? imageBackendsOf(config) : []).map(async (backend) => ({
      backend,
      root: config[backend].root,
      images: await openImageStore(config, backend),
    })),
  )
  const clock = new ClockWatch(parts.clock)
  const pruner = new Pruner({ ...parts, roots, clock })
  const compactor = new Compactor({ ...parts, roots })
  const schedule = new PruneSchedule({ ...config.prune, pruner, audit, logger })
  const closing = new AbortController()
  const resumed = resumeTrash(roots, closing.signal, logger)
  schedule.start()
  opened.defer(async () => {
    closing.abort()
    compactor.close()
    await Promise.all([schedule.close(), resumed])
  })
  return { disk: new DiskReporter({ ...parts, roots }), pruner, compactor }
}
