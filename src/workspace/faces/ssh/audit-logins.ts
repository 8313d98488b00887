import type { AuditLog } from '../../audit/audit-log.ts'
import type { AccessControl } from '../../team/access-control.ts'
import type { LoginObserver } from './server.ts'

/** Writes logins, refusals and workspace entries to the audit log. @param begin marks a user's workspace as in use */
export function auditLogins(
  audit: AuditLog,
  access: AccessControl,
  begin: (user: string) => () => void,
): LoginObserver {
  const userOf = (fingerprint: string): string | undefined => {
    const principal = access.identifyKey(fingerprint)
    return principal && access.userOf(principal)?.name
  }
  return {
    onLogin({ user: workspace, fingerprint, address }) {
      const subject = { action: 'ssh.login', workspace, address, fingerprint } as const
      audit.record({ ...subject, user: userOf(fingerprint) }, { outcome: 'ok' })
      return begin(workspace)
    },
    onRefused: ({ user, address, code }) =>
      audit.refuse({ action: 'ssh.login', workspace: user, address }, code),
    onEntry({ user: workspace, fingerprint, address }, code) {
      const user = userOf(fingerprint)
      const subject = { action: 'ssh.enter', workspace, user, address, fingerprint } as const
      if (code === undefined) audit.record(subject, { outcome: 'ok' })
      else audit.refuse(subject, code, 'failed')
    },
  }
}
