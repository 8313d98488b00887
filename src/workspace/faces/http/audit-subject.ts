import type { IncomingMessage } from 'node:http'
import { tokenNameOf } from '../../../lib/http/token-rule.ts'
import type { AuditSubject } from '../../audit/audit-log.ts'

/** What a request asks for and where it came from, for the audit log. */
export function subjectOf(
  request: { readonly raw: IncomingMessage },
  action: AuditSubject['action'],
  workspace: string,
): AuditSubject {
  const { raw } = request
  return { action, workspace, address: raw.socket.remoteAddress ?? '', token: tokenNameOf(raw) }
}

/** What a request asks for of an image. */
export function imageSubjectOf(
  request: { readonly raw: IncomingMessage },
  action: Extract<AuditSubject['action'], `image.${string}`>,
  image: string,
): AuditSubject {
  return { ...subjectOf(request, action, ''), image }
}

/** What a request asks for of a snapshot, and of the workspace that it is taken of. */
export function snapshotSubjectOf(
  request: { readonly raw: IncomingMessage },
  action: Extract<AuditSubject['action'], `snapshot.${string}`>,
  snapshot: string,
  workspace = '',
): AuditSubject {
  return { ...subjectOf(request, action, workspace), snapshot }
}
