import type { IncomingMessage } from 'node:http'
import { tokenNameOf } from '../../../lib/http/token-rule.ts'
import type { AuditSubject } from '../../audit/audit-log.ts'
import { userNameOf } from './team/gate.ts'

/** Returns the audit subject of a request: its action, workspace, client address and token. */
export function subjectOf(
  request: { readonly raw: IncomingMessage },
  action: AuditSubject['action'],
  workspace: string,
): AuditSubject {
  const { raw } = request
  const address = raw.socket.remoteAddress ?? ''
  return { action, workspace, address, token: tokenNameOf(raw), user: userNameOf(raw) }
}

/** Returns the audit subject of a request for an image. */
export function imageSubjectOf(
  request: { readonly raw: IncomingMessage },
  action: Extract<AuditSubject['action'], `image.${string}`>,
  image: string,
): AuditSubject {
  return { ...subjectOf(request, action, ''), image }
}

/** Returns the audit subject of a request for a snapshot and its source workspace. */
export function snapshotSubjectOf(
  request: { readonly raw: IncomingMessage },
  action: Extract<AuditSubject['action'], `snapshot.${string}`>,
  snapshot: string,
  workspace = '',
): AuditSubject {
  return { ...subjectOf(request, action, workspace), snapshot }
}

/** Returns a text of a body that may violate its schema; '' if it has none. */
export function textIn(body: unknown, name: string): string {
  const value =
    typeof body === 'object' && body !== null ? (body as Readonly<Record<string, unknown>>)[name] : ''
  return typeof value === 'string' ? value : ''
}
