import { PassThrough } from 'node:stream'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Clock } from '../../../../src/lib/clock/clock.ts'
import { createLogger } from '../../../../src/lib/log/logger.ts'
import { ActivityTable } from '../../../../src/workspace/activity/activity-table.ts'
import { AuditLog } from '../../../../src/workspace/audit/audit-log.ts'
import { CreationMarks } from '../../../../src/workspace/lifecycle/creation-marks.ts'
import { Lifecycle } from '../../../../src/workspace/lifecycle/lifecycle.ts'
import { SettingsEditor } from '../../../../src/workspace/lifecycle/settings-editor.ts'
import { WorkspaceTable } from '../../../../src/workspace/lifecycle/table.ts'
import { ProcessTable } from '../../../../src/workspace/program/process-table.ts'
import { SettingsStore } from '../../../../src/workspace/settings/settings-store.ts'
import { SnapshotLibrary } from '../../../../src/workspace/snapshot/snapshot-library.ts'
import { Timeline } from '../../../../src/workspace/timeline/timeline.ts'
import { CREATE_DEFAULTS } from './create-defaults.ts'
import type { FakeBackend } from '../backend/fake-backend.ts'
import { noEgress } from './no-egress.ts'

/** State that servers of a host share, and the clock of its tests. */
export interface TimedHost<C extends Clock> {
  readonly backend: FakeBackend
  readonly stateDir: string
  readonly clock: C
}

/**
 * The parts of a server that work by the clock needs, without that work; a second one on the same host is its restart.
 *
 * @returns `parts` for the work, and views of them for tests
 */
export async function timedServer<C extends Clock>({ backend, stateDir, clock }: TimedHost<C>) {
  onTestFinished(() => backend.close())
  const backends = new Map([['docker', backend]] as const)
  const lines: string[] = []
  const destination = new PassThrough().setEncoding('utf8').on('data', (line: string) => lines.push(line))
  const logger = createLogger({ level: 'info', format: 'json', destination })
  const settings = await SettingsStore.open(stateDir)
  const table = new WorkspaceTable((workspace) => settings.complete(workspace))
  const activity = new ActivityTable(table, clock)
  const timeline = new Timeline(clock)
  const lifecycle = new Lifecycle({
    egress: noEgress,
    timeline,
    table,
    backends,
    marks: new CreationMarks(stateDir),
    settings,
    snapshots: new SnapshotLibrary([backend], clock),
    defaults: CREATE_DEFAULTS,
    logger,
    clock,
  })
  await lifecycle.open()
  const audit = await AuditLog.open(join(stateDir, 'audit'), logger, clock)
  onTestFinished(() => audit.close())
  const processes = new ProcessTable(table, clock)
  onTestFinished(() => processes.close())
  const editor = new SettingsEditor({ table, lifecycle, settings, timeline, clock })
  return {
    parts: { table, lifecycle, editor, activity, processes, timeline, audit, logger, clock },
    activity,
    lifecycle,
    processes,
    editor,
    log: () => lines.join(''),
    audit: async () => {
      await audit.close()
      return readFileSync(join(stateDir, 'audit'), 'utf8')
    },
    find: (name = 'demo') => table.find(name),
    status: (name = 'demo') => table.find(name)?.state.is,
    notes: (name = 'demo') => timeline.of(name).flatMap((entry) => (entry.is === 'note' ? [entry.text] : [])),
    reasons: (name = 'demo') =>
      timeline.of(name).flatMap((entry) => (entry.is === 'state' ? [entry.reason] : [])),
  }
}
