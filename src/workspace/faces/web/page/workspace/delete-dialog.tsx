import { useState } from 'preact/hooks'
import type { WireWorkspace } from '../../../../api/workspace.ts'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { ask, messageOf } from '../server/request.ts'
import { texts } from '../texts.ts'

interface DeleteDialogProps {
  readonly workspace: WireWorkspace
  readonly onClose: () => void
  readonly onDeleted?: () => void
}

/** Asks before a workspace is deleted, and says what is lost with it. */
export function DeleteDialog({ workspace, onClose, onDeleted }: DeleteDialogProps) {
  const { name, status, local_dir: localDir } = workspace
  const [keepsVolume, setKeepsVolume] = useState(false)
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState<string>()
  const words = texts.deleting
  const remove = async (): Promise<void> => {
    setBusy(true)
    setProblem(undefined)
    try {
      await ask(`/api/workspaces/${encodeURIComponent(name)}?keep_volume=${keepsVolume}`, {
        method: 'DELETE',
      })
      onClose()
      onDeleted?.()
    } catch (error) {
      setProblem(messageOf(error))
      setBusy(false)
    }
  }
  return (
    <Dialog title={words.title(name)} onClose={onClose}>
      <ul class="losses">
        {status === 'running' && <li>{words.programs}</li>}
        <li>{words.system}</li>
        {localDir !== undefined ? (
          <li>{words.localDir(localDir)}</li>
        ) : (
          <li>{keepsVolume ? words.filesKept(name) : words.files}</li>
        )}
      </ul>
      {localDir === undefined && (
        <label class="check">
          <input
            type="checkbox"
            name="keep_volume"
            checked={keepsVolume}
            onChange={(event) => setKeepsVolume(event.currentTarget.checked)}
          />
          {words.keep}
        </label>
      )}
      {problem !== undefined && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <div class="dialog-actions">
        <Button onClick={onClose}>{texts.cancel}</Button>
        <Button kind="danger" icon="delete" isDisabled={isBusy} onClick={() => void remove()}>
          {isBusy ? words.busy : words.confirm}
        </Button>
      </div>
    </Dialog>
  )
}
