import type { ActivityTable } from '../../activity/activity-table.ts'
import type { AuditLog } from '../../audit/audit-log.ts'
import type { WorkspaceTable } from '../../lifecycle/table.ts'
import type { AccessControl } from '../../team/access-control.ts'
import type { OpenUses } from '../../team/open-uses.ts'
import type { LoginObserver } from './server.ts'

interface LoginParts {
  readonly audit: AuditLog
  readonly access: AccessControl
  readonly uses: OpenUses
  readonly table: Pick<WorkspaceTable, 'find'>
  readonly activity: Pick<ActivityTable, 'begin'>
}

/**
 * Writes logins, refusals and workspace entries to the audit log, and marks the workspaces as in use. Closes a connection
 * when its user may no longer use the workspace.
 */
export function observeLogins({ audit, access, uses, table, activity }: LoginParts): LoginObserver {
  const userOf = (fingerprint: string): string | undefined => {
    const principal = access.identifyKey(fingerprint)
    return principal && access.userOf(principal)?.name
  }
  return {
    onLogin({ user: workspace, fingerprint, address }, drop) {
      const subject = { action: 'ssh.login', workspace, address, fingerprint } as const
      audit.record({ ...subject, user: userOf(fingerprint) }, { outcome: 'ok' })
      if (table.find(workspace) === undefined) return () => undefined
      const principal = access.identifyKey(fingerprint)
      const end = activity.begin(workspace)
      if (principal === undefined) return end
      const isAllowed = (): boolean => access.hasLevel(principal, workspace, 'use')
      const unfollow = uses.follow(isAllowed, drop)
      return () => {
        unfollow()
        end()
      }
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
