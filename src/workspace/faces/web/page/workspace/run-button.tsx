import { useState } from 'preact/hooks'
import type { WireWorkspace } from '../../../../api/workspace.ts'
import { Button } from '../parts/button.tsx'
import { notify } from '../parts/notices.tsx'
import { fetchJson, messageOf } from '../server/request.ts'
import { texts } from '../texts.ts'

interface RunButtonProps {
  readonly workspace: WireWorkspace
  /** Class of its text. */
  readonly textClass?: string
}

/** A button that starts a stopped workspace or stops a running one. */
export function RunButton({ workspace, textClass }: RunButtonProps) {
  const [isBusy, setBusy] = useState(false)
  const { name, status } = workspace
  const action = status === 'running' ? 'stop' : 'start'
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
