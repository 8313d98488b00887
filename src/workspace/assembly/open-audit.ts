import { join } from 'node:path'
import type { AlarmClock } from '../../lib/clock/clock.ts'
import type { DisposalStack } from '../../lib/lifetime/disposal-stack.ts'
import type { Logger } from '../../lib/log/logger.ts'
import { AuditLog } from '../audit/audit-log.ts'
import type { WorkspaceConfig } from '../config.ts'
import { AUDIT_SENT_FILE } from '../state-dir.ts'

/**
 * Opens the audit log, whose entries are also sent to a collector if one is configured.
 *
 * @throws AUDIT_FILE_UNUSABLE when the file cannot be appended to
 */
export async function openAudit(
  { audit: { file, otlp }, stateDir }: Pick<WorkspaceConfig, 'audit' | 'stateDir'>,
  {
    logger,
    clock,
    opened,
  }: { readonly logger: Logger; readonly clock: AlarmClock; readonly opened: DisposalStack },
): Promise<AuditLog> {
  const audit = await AuditLog.open(file, logger, clock)
  if (file !== undefined && otlp !== undefined) {
    const { AuditExporter } = await import('../audit/audit-exporter.ts')
    const stateFile = join(stateDir, AUDIT_SENT_FILE)
    // Closed after the log, whose last entries it sends.
    const exporter = opened.use(await AuditExporter.open({ ...otlp, file, stateFile, logger, clock }))
    audit.onWrite(() => exporter.wake())
    exporter.wake()
  }
  return opened.use(audit)
}
