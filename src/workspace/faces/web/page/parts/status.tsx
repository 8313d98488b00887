import type { WireWorkspace } from '../../../../api/workspace.ts'
import { texts } from '../texts.ts'

/** The state of a workspace as a word, with a dot that says the same in colour. */
export function Status({ status }: { readonly status: WireWorkspace['status'] }) {
  return <span class={`status ${status}`}>{texts.status[status]}</span>
}
