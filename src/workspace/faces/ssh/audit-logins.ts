import type { AuditLog } from '../../audit/audit-log.ts'
import type { LoginObserver } from './server.ts'

/** Writes logins, refusals and workspace entries to the audit log. @param begin marks a user's workspace as in use */
export function auditLogins(audit: AuditLog, begin: (user: string) => () => void): LoginObserver {
  return {
    onLogin({ user, fingerprint, address }) {
      audit.record({ action: 'ssh.login', workspace: user, address, fingerprint }, { outcome: 'ok' })
      return begin(user)
    },
    onRefused: ({ user, address, code }) =>
      audit.refuse({ action: 'ssh.login', workspace: user, address }, code),
    onEntry({ user, fingerprint, address }, code) {
      const subject = { action: 'ssh.enter', workspace: user, address, fingerprint } as const
      if (code === undefined) audit.record(subject, { outcome: 'ok' })
      else audit.refuse(subject, code, 'failed')
    },
  }
}
