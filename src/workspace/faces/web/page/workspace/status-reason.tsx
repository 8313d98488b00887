import type { WireWorkspace } from '../../../../api/workspace.ts'
import { texts } from '../texts.ts'

/** The reason of a status other than running, the event before it, and a remedy. */
export function StatusReason({ workspace }: { readonly workspace: WireWorkspace }) {
  const { status, error_message: message, status_reason: why } = workspace
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
