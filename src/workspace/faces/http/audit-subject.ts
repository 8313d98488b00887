import type { IncomingMessage } from 'node:http'
import type { AuditSubject } from '../../audit/audit-log.ts'

/** What a request asks for and where it came from, for the audit log. */
export function subjectOf(
  request: { readonly raw: IncomingMessage },
  action: AuditSubject['action'],
  workspace: string,
): AuditSubject {
  return { action, workspace, address: request.raw.socket.remoteAddress ?? '' }
}
