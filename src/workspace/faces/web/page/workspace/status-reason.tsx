import type { WireWorkspace } from '../../../../api/workspace.ts'
import { useQuery } from '../parts/use-query.ts'
import { texts } from '../texts.ts'

/** The reason of a status other than running, the event before it, and a remedy. */
export function StatusReason({ workspace }: { readonly workspace: WireWorkspace }) {
  const { name, status, error_message: message } = workspace
  const isRunning = status === 'running'
  const path = isRunning ? undefined : `/api/workspaces/${encodeURIComponent(name)}`
  const { value } = useQuery<WireWorkspace>(path, undefined, workspace)
  if (isRunning) return null
  // The answer may be of an earlier status.
  const why = value?.status === status ? value.status_reason : undefined
  const reason = why?.reason ?? message
  if (reason === undefined) return null
  return (
    <div
      class={status === 'error' ? 'reason problem' : 'reason'}
      role={status === 'error' ? 'alert' : 'status'}
    >
      <p>{texts.reason.why(status, reason)}</p>
      {why?.before !== undefined && <p>{texts.reason.before(why.before)}</p>}
      {why !== undefined && <p>{texts.reason.remedy(why.remedy)}</p>}
    </div>
  )
}
