import type { WireWorkspace } from '../../../../api/workspace.ts'
import { texts } from '../texts.ts'

/** A workspace's status as text, with a colored dot. */
export function Status({ status }: { readonly status: WireWorkspace['status'] }) {
  return <span class={`status ${status}`}>{texts.status[status]}</span>
}
