import { useState } from 'preact/hooks'
import type { WireWorkspace } from '../../../../api/workspace.ts'
import { Button } from '../parts/button.tsx'
import { notify } from '../parts/notices.tsx'
import { fetchJson, messageOf } from '../server/request.ts'
import { texts } from '../texts.ts'

interface RunButtonProps {
  readonly workspace: WireWorkspace
  /** Default: stop if it is running, else start. */
  readonly action?: 'start' | 'stop' | 'suspend'
  /** Class of its text. */
  readonly textClass?: string
}

/** A button that starts, stops or suspends a workspace. */
export function RunButton({
  workspace,
  textClass,
  action = workspace.status === 'running' ? 'stop' : 'start',
}: RunButtonProps) {
  const [isBusy, setBusy] = useState(false)
  const { name, status } = workspace
  const act = async (): Promise<void> => {
    setBusy(true)
    try {
      await fetchJson(`/api/workspaces/${encodeURIComponent(name)}/${action}`, { method: 'POST' })
    } catch (error) {
      notify(texts.failed(texts.actions[action](name), messageOf(error)))
    }
    setBusy(false)
  }
  return (
    <Button
      icon={action}
      label={texts.actions[action](name)}
      isDisabled={isBusy || status === 'starting'}
      onClick={() => void act()}
    >
      <span class={textClass}>{texts.actionLabels[action]}</span>
    </Button>
  )
}
