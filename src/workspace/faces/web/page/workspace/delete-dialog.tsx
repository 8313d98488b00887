import { useState } from 'preact/hooks'
import type { WireWorkspace } from '../../../../api/workspace.ts'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Problem } from '../parts/problem.tsx'
import { useAction } from '../parts/use-action.ts'
import { fetchJson } from '../server/request.ts'
import { texts } from '../texts.ts'

interface DeleteDialogProps {
  readonly workspace: WireWorkspace
  readonly onClose: () => void
  readonly onDeleted?: () => void
}

/** Asks for confirmation to delete a workspace and lists what is lost. */
export function DeleteDialog({ workspace, onClose, onDeleted }: DeleteDialogProps) {
  const { name, status, local_dir: localDir } = workspace
  const [keepsVolume, setKeepsVolume] = useState(false)
  const labels = texts.deleting
  const { isBusy, problem, start } = useAction(async () => {
    await fetchJson(`/api/workspaces/${encodeURIComponent(name)}?keep_volume=${keepsVolume}`, {
      method: 'DELETE',
    })
    onClose()
    onDeleted?.()
  })
  return (
    <Dialog title={labels.title(name)} onClose={onClose}>
      <ul class="losses">
        {status === 'running' && <li>{labels.programs}</li>}
        <li>{labels.system}</li>
        {localDir !== undefined ? (
          <li>{labels.localDir(localDir)}</li>
        ) : (
          <li>{keepsVolume ? labels.filesKept(name) : labels.files}</li>
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
          {labels.keep}
        </label>
      )}
      {problem !== undefined && <Problem>{problem}</Problem>}
      <div class="dialog-actions">
        <Button onClick={onClose}>{texts.cancel}</Button>
        <Button kind="danger" icon="delete" isDisabled={isBusy} onClick={start}>
          {isBusy ? labels.busy : labels.confirm}
        </Button>
      </div>
    </Dialog>
  )
}
